// all_to_all: block j of rank r as block r of rank j, p-1 messages from each rank, in p-1 rounds.
#include "exercises/02_naive_collectives/all_to_all.hpp"

#include "tests/harness/words/labels.hpp"
#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "all_to_all is to be built from messages");

const std::vector<int> kUpTo8 = {3, 1, 2, 4, 5, 8};

/// Elements of one block.
std::size_t m_of(const Call& call, const Communicator& comm) {
    return static_cast<std::size_t>(ceil_div(call.n, comm.size()));
}

Buffers before(const Call& call, const Communicator& comm) {
    const std::size_t length = m_of(call, comm) * static_cast<std::size_t>(comm.size());
    return {labels(length, comm.rank(), call.salt), poison(length)};
}

/// Whether block j of out is the block that rank j had for this rank.
Comparison outcome(const Buffers& b, const Call& call, const Communicator& comm) {
    const std::size_t m = m_of(call, comm);
    const std::size_t mine = m * static_cast<std::size_t>(comm.rank());
    std::vector<float> expected;
    for (int src = 0; src < comm.size(); ++src) {
        const auto block = labels(mine, mine + m, src, call.salt);
        expected.insert(expected.end(), block.begin(), block.end());
    }
    const Comparison blocks = same_labels(b.out, expected);
    return blocks ? same_labels(b.data, before(call, comm).data) : blocks;
}

const Attempt kAttempt{
    .name = "all_to_all",
    .takes = {.blocks = true},
    .before = before,
    .call = [](Buffers& b, const Call& /*call*/, const Communicator& comm
            ) { all_to_all(b.data, b.out, comm); },
    .outcome = outcome,
    .note =
        [](const Call& /*call*/, const Communicator& comm) {
            const std::string r = std::to_string(comm.rank());
            return "block " + r + " of each rank's in is for this rank " + r;
        }};

Cost a_block_each(const Call& call, const Communicator& comm) {
    const long others = comm.size() - 1;
    const long bytes = others * float_bytes(m_of(call, comm));
    std::set<int> all_others;
    for (int r = 0; r < comm.size(); ++r) {
        all_others.insert(r);
    }
    all_others.erase(comm.rank());
    if (bytes == 0) {  // nothing need not be sent
        return {.messages_sent = at_most(others), .bytes_sent = exactly(0)};
    }
    return {
        .messages_sent = exactly(others),
        .bytes_sent = exactly(bytes),
        .messages_received = exactly(others),
        .bytes_received = exactly(bytes),
        .sent_to = all_others,
        .received_from = all_others};
}

Cost rounds(const Call& /*call*/, const Communicator& comm) {
    // p - 1; and one more, for an exchange in pairs with an odd p leaves one rank out each time
    return {.rounds = at_most(comm.size())};
}

}  // namespace

TEST_CASE("all_to_all brings block j of every rank to rank j, in the order of the ranks") {
    every_length(kAttempt, kUpTo8);
}

TEST_CASE("all_to_all sends one block to each other rank, and nothing through a third") {
    costs(
        kAttempt, a_block_each,
        "Each rank sends one block to each of the others and receives one from each; its own it "
        "copies.",
        kUpTo8
    );
}

TEST_CASE("all_to_all keeps every rank busy in every round: nobody is everyone's first") {
    costs(
        kAttempt, rounds,
        "A rank takes in one message a round, so those that send to the same rank wait for each "
        "other. A round for each of the others does: in step s everyone sends to r + s while it "
        "receives from r - s.",
        {4, 5, 8}
    );
}

TEST_CASE("all_to_all refuses lengths that do not fit") {
    on_ranks({3, 2, 4}, [](const Communicator& comm) {
        const auto p = static_cast<std::size_t>(comm.size());
        const std::vector<std::pair<std::size_t, std::size_t>> wrong = {
            {2 * p + 1, 2 * p + 1}, {2 * p, p}, {2 * p, 3 * p}};
        for (const auto& [in_length, out_length] : wrong) {
            const auto in = labels(in_length, comm.rank());
            auto out = poison(out_length);
            const Answer got = answer(comm, [&] { all_to_all(in, out, comm); });
            const std::string n = std::to_string(in_length);
            INFO(
                (in_length % p == 0
                     ? "in has " + n + " floats, out " + std::to_string(out_length)
                     : n + " floats do not make " + std::to_string(p) + " equal blocks")
            );
            CHECK(got.what == kInvalidArgument);
            CHECK(got.traffic.messages_sent == 0);
        }
    });
}

TEST_CASE("all_to_all refuses an out that is not as long as in, before it sends anything") {
    refuses_lengths(kAttempt, &Buffers::out);
}

TEST_CASE("all_to_all refuses blocks that are longer than an int can say") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        const Reserved whole((std::size_t{1} << 31U) * static_cast<std::size_t>(comm.size()));
        const CrashMeans crash("it took up blocks of 2^31 floats, which it has to refuse first");
        const Answer got = answer(comm, [&] { all_to_all(whole.floats(), whole.floats(), comm); });
        INFO("blocks of 2^31 floats: MPI takes lengths as int");
        CHECK(got.what == kInvalidArgument);
        CHECK(got.traffic.messages_sent == 0);
    });
}

TEST_CASE("all_to_all can be called twice in a row") {
    two_in_a_row(kAttempt);
}

TEST_CASE("all_to_all stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("all_to_all throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("all_to_all is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
