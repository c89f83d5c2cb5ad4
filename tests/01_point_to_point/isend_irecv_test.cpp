// isend, irecv and Request: messages that are under way together, each waited for exactly once.
#include "exercises/01_point_to_point/isend_irecv.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

int next_of(const Communicator& comm) {
    return (comm.rank() + 1) % comm.size();
}

int prev_of(const Communicator& comm) {
    return (comm.rank() + comm.size() - 1) % comm.size();
}

Comparison came_from(int src, const std::vector<float>& data, std::uint64_t salt = 0) {
    return same(data, input(data.size(), src, salt));
}

/// What rank 1's wait() throws when `sent` elements come where `expected` had to; "" if nothing.
std::string wait_error(std::size_t sent, std::size_t expected, const Communicator& comm) {
    if (comm.rank() == 0) {
        const auto data = input(sent, 0);
        isend(data, 1, comm).wait();
    } else if (comm.rank() == 1) {
        auto data = poison(expected);
        Request request = irecv(data, 0, comm);
        try {
            request.wait();
        } catch (const Error& error) {
            request.wait();  // there is nothing left to wait for, and nothing left to tell
            return error.what();
        }
    }
    return "";
}

Request moved(Request& from, bool assigned) {
    if (!assigned) {
        return std::move(from);
    }
    Request to;
    to = std::move(from);
    return to;
}

/// Around the ring: start to send, start to receive, wait for both.
const Attempt kAttempt{
    .name = "isend_irecv",
    .before =
        [](const Call& call, const Communicator& comm) {
            return Buffers{input(call.n, comm.rank(), call.salt), poison(call.n)};
        },
    .call =
        [](Buffers& b, const Call& /*call*/, const Communicator& comm) {
            Request sending = isend(b.data, next_of(comm), comm);
            Request receiving = irecv(b.out, prev_of(comm), comm);
            sending.wait();
            receiving.wait();
        },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& comm
               ) { return came_from(prev_of(comm), b.out, call.salt); }};

}  // namespace

TEST_CASE("isend and irecv start messages that are all under way together") {
    every_length(kAttempt);
}

TEST_CASE("isend and irecv cost one message each, and one round") {
    costs(
        kAttempt,
        [](const Call& call, const Communicator& comm) {
            return Cost{
                .messages_sent = exactly(1),
                .bytes_sent = exactly(float_bytes(call.n)),
                .rounds = exactly(1),
                .sent_to = std::set{next_of(comm)}};
        },
        "each rank sends to the next one: all messages can be under way at once"
    );
}

TEST_CASE("isend and irecv may be called in any order") {
    on_ranks({3, 2, 5}, [](const Communicator& comm) {
        auto from_prev = poison(1000);
        const auto to_next = input(1000, comm.rank());
        Request receiving = irecv(from_prev, prev_of(comm), comm);
        Request sending = isend(to_next, next_of(comm), comm);
        receiving.wait();
        sending.wait();
        const Comparison message = came_from(prev_of(comm), from_prev);
        CHECK(message);
    });
}

TEST_CASE("wait() may come in another order than the messages") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const auto first = input(7, comm.rank(), 1);
        const auto second = input(7, comm.rank(), 2);
        auto got_first = poison(7);
        auto got_second = poison(7);
        std::array requests = {
            isend(first, next_of(comm), comm, 3), isend(second, next_of(comm), comm, 5),
            irecv(got_second, prev_of(comm), comm, 5), irecv(got_first, prev_of(comm), comm, 3)};
        for (std::size_t i = requests.size(); i-- > 0;) {
            requests[i].wait();
        }
        INFO("one message was sent with tag 3, then one with tag 5");
        const auto sent = [&](std::uint64_t salt) { return input(7, prev_of(comm), salt); };
        const std::string other = "that is the message with the other tag";
        CHECK(same(got_first, sent(1), 0, {{sent(2), other}}));
        CHECK(same(got_second, sent(2), 0, {{sent(1), other}}));
    });
}

TEST_CASE("wait() a second time does nothing") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const auto to_next = input(7, comm.rank());
        auto from_prev = poison(7);
        Request sending = isend(to_next, next_of(comm), comm);
        Request receiving = irecv(from_prev, prev_of(comm), comm);
        sending.wait();
        receiving.wait();
        INFO("it was waited for before, and that was right");
        CHECK_NOTHROW(sending.wait());
        CHECK_NOTHROW(receiving.wait());
    });
}

TEST_CASE("a request that nobody waits for is waited for by its destructor") {
    const bool throws = GENERATE(false, true);
    on_ranks({2, 3, 4, 5}, [&](const Communicator& comm) {
        const auto to_next = input(1000, comm.rank());
        auto from_prev = poison(1000);
        try {
            const Request sending = isend(to_next, next_of(comm), comm);
            const Request receiving = irecv(from_prev, prev_of(comm), comm);
            if (throws) {
                throw std::bad_alloc();
            }
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): thrown above
        }
        INFO(
            (throws ? "an exception ended the block of both requests"
                    : "both requests went out of scope")
            << ": their destructors have to wait"
        );
        CHECK(came_from(prev_of(comm), from_prev));
    });
}

TEST_CASE("a message of the wrong length is an error of wait(), not of the destructor") {
    const auto [sent, expected] = GENERATE(
        std::pair<std::size_t, std::size_t>{7, 8}, std::pair<std::size_t, std::size_t>{8, 7},
        std::pair<std::size_t, std::size_t>{3, 0}, std::pair<std::size_t, std::size_t>{0, 3}
    );
    on_ranks({2, 3}, [&, sent = sent, expected = expected](const Communicator& comm) {
        const bool wait_threw_an_error = !wait_error(sent, expected, comm).empty();
        const auto data = input(sent, 0);
        auto received = poison(expected);
        if (comm.rank() == 0) {
            isend(data, 1, comm).wait();
        } else if (comm.rank() == 1) {
            const Request unwatched = irecv(received, 0, comm);
        }
        INFO("rank 0 sent " << sent << " floats, irecv's data holds " << expected);
        INFO("wait must throw dist::Error");
        CHECK(wait_threw_an_error == (comm.rank() == 1));
    });
}

TEST_CASE("a request that was moved from is empty: its wait() does not wait") {
    const bool assigned = GENERATE(false, true);
    on_ranks({2, 3, 4, 5}, [&](const Communicator& comm) {
        const auto to_next = input(7, comm.rank());
        for (const std::size_t expected : {7U, 8U}) {
            auto from_prev = poison(expected);
            Request old = irecv(from_prev, prev_of(comm), comm);
            Request request = moved(old, assigned);
            // nobody has sent yet
            old.wait();  // NOLINT(*-use-after-move,*-cplusplus.Move)
            isend(to_next, next_of(comm), comm).wait();
            if (expected == 7) {
                request.wait();
                CHECK(came_from(prev_of(comm), from_prev));
            } else {
                INFO(
                    "7 floats came where 8 had to: a request that was moved still knows that, also "
                    "if it was "
                    << (assigned ? "assigned" : "constructed")
                );
                CHECK_THROWS_AS(request.wait(), Error);
            }
        }
    });
}

TEST_CASE("wait_all waits for every request") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        const auto to_some = input(1000, comm.rank());
        std::map<int, std::vector<float>> from;
        std::vector<Request> requests(1);  // one is empty
        for (int step = 0; step < std::min(p, 3); ++step) {
            const int src = (comm.rank() + p - step) % p;
            from[src] = poison(1000);
            requests.push_back(isend(to_some, (comm.rank() + step) % p, comm));
            requests.push_back(irecv(from[src], src, comm));
        }
        wait_all(requests);
        for (const auto& [src, data] : from) {
            INFO("the message of rank " << src << " of " << p);
            CHECK(came_from(src, data));
        }
    });
}

TEST_CASE("assignment waits for the request that it replaces") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const auto first = input(7, comm.rank(), 1);
        const auto second = input(7, comm.rank(), 2);
        auto got_first = poison(7);
        auto got_second = poison(7);
        const Request sending_first = isend(first, next_of(comm), comm, 3);
        const Request sending_second = isend(second, next_of(comm), comm, 5);
        Request request = irecv(got_first, prev_of(comm), comm, 3);
        Request other = irecv(got_second, prev_of(comm), comm, 5);
        request = std::move(other);
        const auto after_assignment = got_first;
        request.wait();
        CHECK(came_from(prev_of(comm), got_second, 2));
        INFO("request = std::move(other), while the message of `request` was under way");
        CHECK(came_from(prev_of(comm), after_assignment, 1));
    });
}

TEST_CASE("assignment throws nothing: the error of the request that it replaces is lost") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const auto to_next = input(7, comm.rank());
        const Request sending = isend(to_next, next_of(comm), comm);
        auto from_prev = poison(8);
        Request request = irecv(from_prev, prev_of(comm), comm);
        request = Request();  // waits: 7 floats come where 8 have to
        INFO("the request that failed was replaced by an empty one: there is nothing to wait for");
        CHECK_NOTHROW(request.wait());
    });
}

TEST_CASE("wait_all waits for all, also if some fail, and then throws the first error") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const std::string first_error = wait_error(7, 8, comm);
        const std::string last_error = wait_error(7, 6, comm);
        const auto data = input(7, 0);
        for (const auto& [tags, order] :
             {std::pair{std::array{0, 1, 2}, "in the order of their irecvs"},
              std::pair{std::array{2, 1, 0}, "the third one's first, the first one's last"}}) {
            if (comm.rank() == 0) {
                const LateMessages one_by_one(10);
                for (const int tag : tags) {
                    isend(data, 1, comm, tag).wait();
                }
            }
            if (comm.rank() != 1) {
                continue;
            }
            auto short_message = poison(8);
            auto right = poison(7);
            auto long_message = poison(6);
            std::array requests = {
                irecv(short_message, 0, comm, 0), irecv(right, 0, comm, 1),
                irecv(long_message, 0, comm, 2)};
            std::string error_of_wait_all;
            try {
                wait_all(requests);
            } catch (const Error& error) {
                error_of_wait_all = error.what();
            }
            INFO("three irecvs, the first and the third message have the wrong length");
            INFO("the messages come " << order);
            {
                INFO("wait_all throws the error of the first one in the list: " << first_error);
                CHECK_FALSE(error_of_wait_all.empty());
                CHECK(error_of_wait_all != last_error);
            }
            INFO("the second message is right: wait_all waits for it although the first failed");
            CHECK(came_from(0, right));
        }
    });
}

TEST_CASE("isend and irecv count ranks in the communicator that was given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("isend, irecv and wait throw dist::Error if a message fails") {
    reports_failures(kAttempt);
    on_ranks({2}, [](const Communicator& comm) {
        const FailingMessages failing;
        auto from_prev = poison(7);
        INFO("every message fails here: what does MPI_Irecv return?");
        CHECK_THROWS_AS(irecv(from_prev, prev_of(comm), comm), Error);
    });
}

TEST_CASE("isend and irecv refuse messages that are longer than an int can say") {
    {
        INFO("isend");
        refuses_more_than_an_int([](std::span<float> floats, const Communicator& comm) {
            isend(floats, next_of(comm), comm).wait();
        });
    }
    INFO("irecv");
    refuses_more_than_an_int([](std::span<float> floats, const Communicator& comm) {
        irecv(floats, prev_of(comm), comm).wait();
    });
}

TEST_CASE("isend and irecv are right among 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
