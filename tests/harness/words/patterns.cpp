#include "tests/harness/words/patterns.hpp"

#include <unistd.h>
#include <utility>

#include "course/protocol/counted.hpp"
#include "course/protocol/protocol.hpp"
#include "tests/harness/job/runs.hpp"

namespace dist::harness {
namespace {

constexpr std::size_t kLarge = 100'000;  // a length from here on is tried once, not for each root

using Calls = std::vector<Call>;

/// `call` with each root that it is tried with on p ranks.
Calls with_roots(const Attempt& attempt, Call call, int p) {
    Calls all;
    if (!attempt.takes.root) {
        return {call};
    }
    for (int root = call.n >= kLarge ? p - 1 : 0; root < p; ++root) {
        call.root = root;
        all.push_back(call);
    }
    return all;
}

/// `like` with each of lengths(p), and each root.
Calls with_lengths(const Attempt& attempt, Call like, int p) {
    Calls all;
    for (const std::size_t n : lengths(p)) {
        like.n = n;
        const Calls some = with_roots(attempt, like, p);
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

/// A body of its own for each call on each world.
void for_each_call(
    const std::vector<int>& worlds,
    const std::function<Calls(int p)>& calls_on,
    const std::function<void(const Call&, const Communicator&)>& body
) {
    on_ranks_each(
        worlds, [&](int p) { return calls_on(p).size(); },
        [&](const Communicator& comm, std::size_t number) {
            body(calls_on(comm.size())[number], comm);
        }
    );
}

/// One call, and its outcome; record() for its end: nobody goes on before all have returned.
void check_one(const Attempt& attempt, const Call& call, const Communicator& comm) {
    INFO(text_of(attempt, call, comm));
    Buffers buffers = attempt.before(call, comm);
    record(attempt, buffers, call, comm);
    const Comparison result = attempt.outcome(buffers, call, comm);
    CHECK(result);
}

/// Where the second call of two goes: to the same root as the first, or to another one.
std::vector<int> next_roots(const Attempt& attempt, int first, int late) {
    return attempt.takes.root ? std::vector{first, late == 0 ? 1 : 0} : std::vector{0};
}

void calls_in_a_row(
    const Attempt& attempt,
    int late,
    int second_root,
    const std::string& why,
    const Communicator& comm
) {
    const Call first{.n = 1000, .root = comm.size() - 1, .salt = 1};
    const Call second{
        .n = 1000, .op = ReduceOp::max, .root = second_root, .segments = 2, .salt = 2};
    INFO(
        (late < 0 ? "two calls at once"
                  : "rank " + std::to_string(late) + " came late, the others had begun")
    );
    Buffers in_first = attempt.before(first, comm);
    Buffers in_second = attempt.before(second, comm);
    record(comm, [&] {
        if (comm.rank() == late) {
            usleep(3000);
        }
        attempt.call(in_first, first, comm);
        attempt.call(in_second, second, comm);
    });
    INFO(why);
    const Comparison first_result = attempt.outcome(in_first, first, comm);
    CHECK(first_result);
    const Comparison second_result = attempt.outcome(in_second, second, comm);
    CHECK(second_result);
}

}  // namespace

void every_call(
    const Attempt& attempt, const std::vector<Call>& calls, const std::vector<int>& worlds
) {
    for_each_call(
        worlds, [&](int) { return calls; },
        [&](const Call& call, const Communicator& comm) { check_one(attempt, call, comm); }
    );
}

void every_length(const Attempt& attempt, const std::vector<int>& worlds) {
    for_each_call(
        worlds, [&](int p) { return with_lengths(attempt, {}, p); },
        [&](const Call& call, const Communicator& comm) { check_one(attempt, call, comm); }
    );
}

void every_operation(const Attempt& attempt, const std::vector<int>& worlds) {
    using enum ReduceOp;
    const auto calls_on = [](int p) {
        Calls all;
        for (Call call : Calls{
                 {.op = mean},
                 {.op = product},
                 {.op = min},
                 {.op = max},
                 {.op = max, .values = Values::negative},
                 {.op = min, .values = Values::positive}}) {
            for (const std::size_t n : {7U, 0U, 1U, 1000U}) {
                call.n = n;
                call.root = p - 1;
                all.push_back(call);
            }
        }
        return all;
    };
    for_each_call(worlds, calls_on, [&](const Call& call, const Communicator& comm) {
        check_one(attempt, call, comm);
    });
}

void on_many_ranks(const Attempt& attempt) {
    using enum ReduceOp;
    Calls calls;
    for (const std::size_t n : {7U, 11U, 1000U}) {
        for (const int root : attempt.takes.root ? std::vector{0, 5, 10} : std::vector{0}) {
            calls.push_back({.n = n, .root = root});
            if (attempt.takes.op) {
                calls.push_back({.n = n, .op = max, .root = root});
                calls.push_back({.n = n, .op = min, .root = root, .values = Values::positive});
                calls.push_back({.n = n, .op = product, .root = root});
            }
        }
    }
    every_call(attempt, calls, {kManyRanks});
}

void two_in_a_row(const Attempt& attempt, const std::string& why) {
    const auto tries_on = [&](int p) {
        std::vector<std::pair<int, int>> tries;  // who is late, and where the second call goes
        for (const int late : {-1, 0, p - 1}) {
            for (const int root : next_roots(attempt, p - 1, late)) {
                tries.emplace_back(late, root);
            }
        }
        return tries;
    };
    on_ranks_each(
        {3, 2, 4, 5}, [&](int p) { return tries_on(p).size(); },
        [&](const Communicator& comm, std::size_t number) {
            const auto [late, root] = tries_on(comm.size())[number];
            calls_in_a_row(attempt, late, root, why, comm);
        }
    );
}

void on_other_communicators(const Attempt& attempt) {
    on_ranks({3, 2, 4, 5}, [&](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const int color = comm.rank() % 2;
        const Communicator half = comm.split(color, -comm.rank());
        for (const Communicator* group : {&reversed, &half}) {
            INFO(
                "rank " << comm.rank() << " of " << comm.size() << " is rank " << group->rank()
                        << " of " << group->size() << " in the communicator that was given"
            );
            const Call call{
                .n = 100,
                .root = group->size() - 1,
                .salt = group == &half ? static_cast<std::uint64_t>(color) : 2};
            Buffers buffers = attempt.before(call, *group);
            attempt.call(buffers, call, *group);
            const Comparison result = attempt.outcome(buffers, call, *group);
            CHECK(result);
        }
    });
}

void same_bits(const Attempt& attempt, const std::string& why, const std::vector<int>& worlds) {
    using enum ReduceOp;
    const auto calls_on = [](int p) {
        Calls all;
        for (const std::size_t n : lengths(p)) {
            all.push_back({.n = n, .op = sum, .values = Values::order_matters});
            all.push_back({.n = n, .op = mean, .values = Values::order_matters});
            // a mean of whole numbers has no short last bit: it shows who divides, and who multiplies
            all.push_back({.n = n, .op = mean});
        }
        return all;
    };
    for_each_call(worlds, calls_on, [&](const Call& call, const Communicator& comm) {
        INFO(text_of(attempt, call, comm));
        Buffers buffers = attempt.before(call, comm);
        attempt.call(buffers, call, comm);
        const Comparison bits = same_on_all_ranks(buffers.data, comm);
        INFO(
            "Ranks that add in different orders round differently, and replicas of a model drift "
            "apart."
        );
        INFO(why);
        CHECK(bits);
    });
}

void costs(
    const Attempt& attempt,
    const CostOf& cost,
    const std::string& why,
    const std::vector<int>& worlds,
    const Call& like
) {
    for_each_call(
        worlds, [&](int p) { return with_lengths(attempt, like, p); },
        [&](const Call& call, const Communicator& comm) {
            INFO(text_of(attempt, call, comm));
            Buffers buffers = attempt.before(call, comm);
            const Traffic traffic = record(attempt, buffers, call, comm);
            const Comparison spent = within(traffic, cost(call, comm));
            INFO(why);
            CHECK(spent);
        }
    );
}

void holds_at_most(
    const Attempt& attempt,
    const std::function<long(const Call&, const Communicator&)>& most_bytes,
    const std::string& why,
    const std::vector<int>& worlds
) {
    constexpr long kSmall = 8192;
    on_ranks(worlds, [&](const Communicator& comm) {
        const Call call{.n = 300'000, .root = comm.size() / 2, .segments = 16};
        Buffers buffers = attempt.before(call, comm);
        INFO(text_of(attempt, call, comm));
        INFO(why);
        const Memory memory = memory_of(comm, [&] { attempt.call(buffers, call, comm); });
        const long most = most_bytes(call, comm);
        const Comparison fits{
            memory.peak_bytes <= most + kSmall,
            "it held " + counted(memory.peak_bytes, "byte") + " at once beside data, where " +
                (most == 0 ? "none are right" : "at most " + std::to_string(most) + " are right")};
        CHECK(fits);
    });
}

void reports_failures(
    const std::function<void(const Communicator&)>& call, const std::vector<int>& worlds
) {
    on_ranks(worlds, [&](const Communicator& comm) {
        INFO("every message fails here");
        const FailingMessages failing;
        const Answer got = answer(comm, [&] { call(comm); });
        INFO(
            (failing.met() ? "what do the MPI calls return? MPI_CHECK looks at it"
                           : "this rank neither sends nor receives, and every rank has to")
        );
        CHECK(got.what == kError);
    });
    on_ranks(worlds, [&](const Communicator& comm) {
        const Traffic all = record(comm, [&] { call(comm); });
        const long messages = all.messages_sent + all.messages_received;
        for (int rank = 0; rank < comm.size(); ++rank) {
            const bool fails = rank == comm.rank() && messages > 0;
            INFO(
                "the last message of rank " << rank << " arrives, and yet MPI says that it failed:"
            );
            INFO(
                "is each call that sends, receives or waits in MPI_CHECK, and none left to a "
                "destructor?"
            );
            const FailingMessage failing(fails ? messages : 0);
            const Answer got = answer(comm, [&] { call(comm); });
            CHECK(got.what == (fails ? kError : kReturned));
        }
    });
}

void reports_failures(const Attempt& attempt, const std::vector<int>& worlds) {
    reports_failures(
        [&](const Communicator& comm) {
            const Call call;
            Buffers buffers = attempt.before(call, comm);
            attempt.call(buffers, call, comm);
        },
        worlds
    );
}

}  // namespace dist::harness
