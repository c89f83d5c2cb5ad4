// Threads that share a transport. Each function is the body of a TEST_CASE.
#pragma once

#include <thread>
#include <vector>

#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"

namespace dist::harness {

inline void serves_threads() {
    on_transports({2}, [](Transport& transport, int rank, int) {
        const int other = 1 - rank;
        // one thread waits for what comes last, while others send and receive much
        std::thread sleeper([&] {
            CHECK(is_message(received(transport, 4, other, 9), 4, other, rank, 9));
        });
        nap(30);
        std::vector<std::thread> threads;
        for (std::uint32_t group = 0; group < 3; ++group) {
            threads.emplace_back([&, group] {
                const auto number = static_cast<int>(group);
                for (int i = 0; i < 20; ++i) {
                    const std::size_t n = i == 0 ? kLong / 4 : 1000;
                    const Bytes data = message(n, rank, other, number);
                    const Request send = transport.isend(data, other, group, i);
                    CHECK(
                        is_message(received(transport, n, other, group, i), n, other, rank, number)
                    );
                    transport.wait(send);
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        transport.send(message(4, rank, other, 9), other, 9, 0);
        sleeper.join();
    });
}

inline void wakes_a_sleeper() {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 0) {
            std::thread sleeper([&] { CHECK(received(transport, 1, 1, 1).size() == 1); });
            nap(50);
            const Bytes data = message(kLong, 0, 1);
            const Request send = transport.isend(data, 1, 0, 0);
            sleeper.join();  // rank 1 answers once it has all of it
            CHECK(transport.test(send));
        } else {
            CHECK(is_message(received(transport, kLong, 0), kLong, 0, 1));
            transport.send(message(1, 1, 0), 0, 1, 0);
        }
    });
}

inline void tells_who_waits() {
    on_transports({2}, [](Transport& transport, int rank, int) {
        for (int i = 0; i < 400; ++i) {
            if (rank == 1) {
                CHECK(received(transport, 0, 0, 3).empty());
                transport.send(message(4, 1, 0), 0, 1, 0);
                transport.send(message(1, 1, 0), 0, 2, 0);
                CHECK(received(transport, 0, 0).empty()
                );  // nothing more comes before rank 0's thread is through
                continue;
            }
            std::thread sleeper([&] { CHECK(received(transport, 4, 1, 1).size() == 4); });
            std::byte place{};
            nap(1);  // it sleeps
            transport.send({}, 1, 3, 0);
            const Request answer = transport.irecv({&place, 1}, 1, 2, 0);
            while (!transport.test(answer)) {
            }
            sleeper.join();
            transport.send({}, 1, 0, 0);
        }
    });
}

inline void brings_to_itself() {
    on_transports({1, 2}, [](Transport& transport, int rank, int) {
        std::thread sleeper([&] {
            CHECK(is_message(received(transport, 5000, rank), 5000, rank, rank));
        });
        nap(50);
        transport.send(message(5000, rank, rank), rank, 0, 0);
        sleeper.join();
    });
}

}  // namespace dist::harness
