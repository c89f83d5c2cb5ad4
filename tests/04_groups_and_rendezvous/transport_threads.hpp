// Threads that share a transport. Each function is the body of a TEST_CASE.
#pragma once

#include <future>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"

namespace dist::harness {

/// Runs `body` beside the test, whose own thread checks what comes of it: Catch2 allows no other.
inline std::future<Comparison> in_a_thread(std::function<Comparison()> body) {
    return std::async(std::launch::async, std::move(body));
}

inline void serves_threads() {
    on_transports({2}, [](Transport& transport, int rank, int) {
        const int other = 1 - rank;
        // one thread waits for what comes last, while others send and receive much
        auto last = in_a_thread([&] { return arrives(transport, 4, other, rank, 9, 0, 9); });
        nap(30);
        std::vector<std::future<Comparison>> threads;
        for (std::uint32_t group = 0; group < 3; ++group) {
            threads.push_back(in_a_thread([&, group] {
                const auto number = static_cast<int>(group);
                Comparison first_wrong;
                for (int i = 0; i < 20; ++i) {
                    const std::size_t n = i == 0 ? kLong / 4 : 1000;
                    const Bytes data = message(n, rank, other, number);
                    const Request send = transport.isend(data, other, group, i);
                    const Comparison came = arrives(transport, n, other, rank, group, i, number);
                    first_wrong = first_wrong ? came : first_wrong;
                    transport.wait(send);
                }
                return first_wrong;
            }));
        }
        for (std::future<Comparison>& thread : threads) {
            CHECK(thread.get());
        }
        transport.send(message(4, rank, other, 9), other, 9, 0);
        CHECK(last.get());
    });
}

inline void wakes_a_sleeper() {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 0) {
            auto sleeper = in_a_thread([&] { return arrives(transport, 1, 1, 0, 1); });
            nap(50);
            const Bytes data = message(kLong, 0, 1);
            const Request send = transport.isend(data, 1, 0, 0);
            CHECK(sleeper.get());  // rank 1 answers once it has all of it
            CHECK(transport.test(send));
        } else {
            CHECK(is_message(received(transport, kLong, 0), kLong, 0, 1));
            transport.send(message(1, 1, 0), 0, 1, 0);
        }
    });
}

/// All threads of this process run on one core from here on.
inline void stay_on_one_core() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

/// This thread comes last where others want the core as well.
inline void come_last() {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
}

// What comes wakes the thread that sleeps, and by the time that it has the core the other one has taken it.
inline void tells_who_waits() {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 0) {
            stay_on_one_core();
        }
        for (int i = 0; i < 50; ++i) {
            if (rank == 1) {
                nap(4);
                transport.send(message(4, 1, 0), 0, 1, 0);
                transport.send(message(1, 1, 0), 0, 2, 0);
                // nothing more comes before rank 0's thread is through
                CHECK(received(transport, 0, 0).empty());
                continue;
            }
            auto sleeper = in_a_thread([&] {
                come_last();
                return arrives(transport, 4, 1, 0, 1);
            });
            nap(2);  // it sleeps, and nobody has called it
            std::byte place{};
            const Request answer = transport.irecv({&place, 1}, 1, 2, 0);
            while (!transport.test(answer)) {
            }
            CHECK(sleeper.get());
            transport.send({}, 1, 0, 0);
        }
    });
}

inline void brings_to_itself() {
    on_transports({1, 2}, [](Transport& transport, int rank, int) {
        auto sleeper = in_a_thread([&] { return arrives(transport, 5000, rank, rank); });
        nap(50);
        transport.send(message(5000, rank, rank), rank, 0, 0);
        CHECK(sleeper.get());
    });
}

}  // namespace dist::harness
