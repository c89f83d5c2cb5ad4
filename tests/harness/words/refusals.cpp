#include "tests/harness/words/refusals.hpp"

#include <algorithm>

#include "course/protocol/counted.hpp"

namespace dist::harness {
namespace {

/// One in which every rank's chunk has a float to lose.
Call call_for(int root, const Communicator& comm) {
    return {
        .n = std::max<std::size_t>(Call{}.n, static_cast<std::size_t>(comm.size())), .root = root};
}

/// The call as only `wrong` gets it wrong: its `part` has `extra` floats more than is right.
Buffers spoilt(
    const Attempt& attempt,
    const Call& call,
    const Communicator& comm,
    Part part,
    int wrong,
    int extra
) {
    Buffers buffers = attempt.before(call, comm);
    if (comm.rank() == wrong) {
        (buffers.*part).resize((buffers.*part).size() + static_cast<std::size_t>(extra));
    }
    return buffers;
}

std::string text_of_lengths(Part part, int wrong, int extra, const Communicator& comm) {
    return "rank " + std::to_string(wrong) + " of " + std::to_string(comm.size()) + " has an " +
           (part == &Buffers::out ? "out" : "in") + " that is one float too " +
           (extra > 0 ? "long" : "short");
}

void check_refused(const Answer& got) {
    CHECK(got.what == kInvalidArgument);
    if (got.what == kInvalidArgument) {
        INFO("it refused too late: it had sent messages");
        CHECK(got.traffic.messages_sent == 0);
    }
}

}  // namespace

void refuses(
    const Communicator& comm,
    const std::string& what,
    const std::function<void()>& call,
    const std::function<Comparison()>& as_before,
    const std::set<int>& ranks
) {
    const bool called = ranks.empty() || ranks.contains(comm.rank());
    const Answer got = answer(comm, [&] {
        if (called) {
            call();
        }
    });
    const Comparison unchanged = as_before();
    INFO(what << ": it must throw std::invalid_argument before any message, and change nothing");
    if (called) {
        check_refused(got);
    }
    CHECK(unchanged);
}

void refuses_roots(const Attempt& attempt) {
    on_ranks({3, 1, 2}, [&](const Communicator& comm) {
        for (const int root : {comm.size(), comm.size() + 3, -1}) {
            for (const std::size_t n : {7U, 0U}) {
                INFO(
                    "root " << root << " of " << counted(comm.size(), "rank") << ", " << n
                            << " floats: every rank must refuse it"
                );
                const Call call{.n = n, .root = root};
                Buffers buffers = attempt.before(call, comm);
                const Answer got = answer(comm, [&] { attempt.call(buffers, call, comm); });
                check_refused(got);
            }
        }
    });
}

void refuses_segments(const Attempt& attempt) {
    on_ranks({3, 1, 2}, [&](const Communicator& comm) {
        for (const int segments : {0, -1}) {
            INFO(segments << " segments: every rank must refuse that");
            const Call call{.segments = segments};
            Buffers buffers = attempt.before(call, comm);
            const Answer got = answer(comm, [&] { attempt.call(buffers, call, comm); });
            check_refused(got);
        }
    });
}

void refuses_lengths(
    const Attempt& attempt, Part part, const std::vector<int>& ranks, const std::vector<int>& worlds
) {
    on_ranks(worlds, [&](const Communicator& comm) {
        for (const int wrong : ranks) {
            for (const int extra : {-1, 1}) {
                const Call call = call_for(wrong, comm);
                if (wrong >= comm.size()) {
                    continue;
                }
                Buffers buffers = spoilt(attempt, call, comm, part, wrong, extra);
                const Answer got = answer(comm, [&] {
                    if (comm.rank() == wrong) {
                        attempt.call(buffers, call, comm);
                    }
                });
                INFO(
                    text_of_lengths(part, wrong, extra, comm)
                    << ": it must refuse that before its first message"
                );
                CHECK(got.what == (comm.rank() == wrong ? kInvalidArgument : kReturned));
                CHECK(got.traffic.messages_sent == 0);
            }
        }
    });
}

void refuses_more_than_an_int(
    const std::function<void(std::span<float> floats, const Communicator&)>& call
) {
    on_ranks({3, 2}, [&](const Communicator& comm) {
        const Reserved room(std::size_t{1} << 31U);
        const FailingMessages failing;  // so that a wrong call says dist::Error, and nobody waits
        const CrashMeans crash("it took up a message of 2^31 floats, which it has to refuse first");
        INFO(
            "a message of 2^31 floats, where MPI takes lengths as int: std::invalid_argument is "
            "right, before any MPI call"
        );
        const Answer got = answer(comm, [&] { call(room.floats(), comm); });
        CHECK(got.what == kInvalidArgument);
    });
}

void notices_lengths(
    const Attempt& attempt,
    Part part,
    Meets meets,
    const std::vector<int>& worlds,
    const std::set<std::string>& by
) {
    on_ranks(worlds, [&](const Communicator& comm) {
        for (int root = 0; root < (attempt.takes.root ? comm.size() : 1); ++root) {
            for (int wrong = 0; wrong < comm.size(); ++wrong) {
                for (const int extra : {-1, 1}) {
                    const Call call = call_for(root, comm);
                    if (wrong == root) {
                        continue;
                    }
                    Buffers buffers = spoilt(attempt, call, comm, part, wrong, extra);
                    const Answer got = answer(comm, [&] { attempt.call(buffers, call, comm); });
                    const int notices = meets == Meets::at_the_root ? root : wrong;
                    INFO(
                        text_of_lengths(part, wrong, extra, comm)
                        << ": rank " << notices << " must notice"
                    );
                    const std::string refused = by.contains(got.what) ? got.what : kError;
                    CHECK(got.what == (comm.rank() == notices ? refused : kReturned));
                }
            }
        }
    });
}

}  // namespace dist::harness
