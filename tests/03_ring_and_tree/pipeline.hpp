// What the tests of the two pipelines share: a row of ranks, along which segments follow each other.
#pragma once

#include <algorithm>
#include <cmath>

#include "course/protocol/counted.hpp"
#include "course/protocol/protocol.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/words/refusals.hpp"

namespace dist::harness {

/// A function that passes segments along a row of ranks, each to the next.
struct Pipeline {
    Attempt attempt;
    int begins = 0;     // how many ranks after the root the row begins
    bool adds = false;  // each rank adds its own to what comes in
};

/// The place of rank r in the row: 0 begins, p - 1 ends.
inline int place_in(const Pipeline& pipeline, int r, const Call& call, int p) {
    return (r - call.root - pipeline.begins + 2 * p) % p;
}

/// The right result for other numbers of segments than 3, also more than there are elements.
/// `one_is_right` is told where a single segment was right and several are not.
inline void any_number_of_segments(const Pipeline& pipeline, const std::string& one_is_right) {
    const Attempt& attempt = pipeline.attempt;
    on_ranks(kWorlds, [&](const Communicator& comm) {
        for (const std::size_t n : {7U, 0U, 1U, 1000U}) {
            bool one_was_right = false;
            for (const int segments : {1, 2, 7, 100}) {
                const Call call{.n = n, .root = comm.size() / 2, .segments = segments};
                Buffers buffers = attempt.before(call, comm);
                record(attempt, buffers, call, comm);
                const Comparison result = attempt.outcome(buffers, call, comm);
                one_was_right = segments == 1 ? static_cast<bool>(result) : one_was_right;
                INFO(
                    text_of(attempt, call, comm)
                    << (one_was_right ? "; with one segment it was right: " + one_is_right : "")
                );
                CHECK(result);
            }
        }
    });
}

/// Every call stays within its cost, in each of these numbers of segments.
inline void costs_of_segments(
    const Pipeline& pipeline,
    const CostOf& cost,
    const std::string& why,
    const std::vector<int>& worlds,
    const std::vector<int>& numbers
) {
    const Attempt& attempt = pipeline.attempt;
    on_ranks(worlds, [&](const Communicator& comm) {
        for (const int segments : numbers) {
            for (const std::size_t n : {1000U, 7U, 0U, 300'000U}) {
                const Call call{.n = n, .root = comm.size() / 2, .segments = segments};
                Buffers buffers = attempt.before(call, comm);
                const Traffic traffic = record(attempt, buffers, call, comm);
                const Comparison spent = within(traffic, cost(call, comm));
                INFO(text_of(attempt, call, comm));
                INFO(why);
                CHECK(spent);
            }
        }
    });
}

/// S messages and n floats from each rank but the last to the one after it. A segment without
/// elements need not be sent.
inline void each_segment_once(const Pipeline& pipeline) {
    const auto one_link = [&](const Call& call, const Communicator& comm) {
        const int p = comm.size();
        const int r = comm.rank();
        const int place = place_in(pipeline, r, call, p);
        const bool sends = place + 1 < p;
        const bool all = call.n >= static_cast<std::size_t>(call.segments);
        Cost cost{
            .messages_sent = {sends && all ? call.segments : 0, sends ? call.segments : 0},
            .bytes_sent = exactly(sends ? float_bytes(call.n) : 0)};
        if (call.n > 0) {
            cost.sent_to = sends ? std::set{(r + 1) % p} : std::set<int>();
            cost.received_from = place > 0 ? std::set{(r - 1 + p) % p} : std::set<int>();
        }
        return cost;
    };
    costs_of_segments(
        pipeline, one_link,
        "A rank sends one message for each segment to the next; the last in the row sends none.",
        kWorlds, {4, 1, 100}
    );
}

/// Segment i is chunk_bounds(n, S, i), on every link: known by its first element and its length.
inline void segments_are_chunks(const Pipeline& pipeline) {
    using Segment = std::pair<long, long>;  // first element, bytes
    const Attempt& attempt = pipeline.attempt;
    on_ranks({3, 2, 4, 5}, [&](const Communicator& comm) {
        const Call call{.n = 1003, .root = comm.size() - 1, .segments = 16};
        Buffers buffers{std::vector<float>(call.n)};
        for (std::size_t i = 0; i < call.n; ++i) {
            buffers.data[i] = static_cast<float>(i);
        }
        record(attempt, buffers, call, comm);
        std::vector<Segment> got;
        for (const MessageRecord& message : recorded_messages(comm)) {
            const int place = place_in(pipeline, message.src, call, comm.size());
            const float ranks = pipeline.adds ? static_cast<float>(place + 1) : 1.0F;
            if (message.src == comm.rank()) {
                got.emplace_back(std::lround(message.first / ranks), message.bytes);
            }
        }
        std::ranges::sort(got);
        Comparison cut;
        for (std::size_t i = 0; i < std::min<std::size_t>(got.size(), 16) && cut; ++i) {
            const Chunk chunk = chunk_bounds(call.n, call.segments, static_cast<int>(i));
            if (got[i] != Segment(chunk.begin, float_bytes(chunk.size()))) {
                cut = {
                    false, "segment " + std::to_string(i) + " begins at element " +
                               std::to_string(got[i].first) + " and has " +
                               counted(got[i].second / 4, "element")};
            }
        }
        INFO(text_of(attempt, call, comm) << ": segment i is chunk_bounds(n, S, i)");
        CHECK(cut);
    });
}

/// Rounds of a pipeline: p - 2 + S where a segment leaves while the next comes in, 2S + p - 3 where a
/// rank receives, sends, receives, and so on. Few segments show a rank that holds back some of them.
inline void is_a_pipeline(const Pipeline& pipeline, const std::vector<int>& worlds) {
    const auto rounds = [](const Call& call, const Communicator& comm) {
        return Cost{.rounds = at_most(std::max(0, 2 * call.segments + comm.size() - 3))};
    };
    costs_of_segments(
        pipeline, rounds,
        "Does a rank wait for all the data before it passes on the first segment?", worlds,
        {16, 2, 3}
    );
}

}  // namespace dist::harness
