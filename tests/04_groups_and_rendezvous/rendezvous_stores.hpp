// The loop of a rendezvous on the stores that it is made for.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_game.hpp"
#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/04_groups_and_rendezvous/stores.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// The references. A TcpStore has none on simulated ranks, where this test runs as well.
inline StoreKinds real_stores() {
    return {
        {"a HashStore, which all nodes share",
         [](Store::Duration timeout) {
             const auto store = std::make_shared<HashStore>(timeout);
             return [store]() -> std::shared_ptr<Store> { return store; };
         }},
        {"a FileStore for each node, of the same file", [](Store::Duration timeout) {
             return [path = fresh_path().string(), timeout] {
                 return std::make_shared<FileStore>(path, kRun, timeout);
             };
         }}};
}

inline std::string end_of_all() {
    RendezvousState state;
    state.closed = true;
    return state.text();
}

/// Four nodes are in five rounds together. Two of them leave after each, the others ask for the next
/// one at once.
inline std::vector<std::vector<RendezvousRound>> five_rounds(const OpenStore& open) {
    RendezvousSettings settings = nodes(4, 4);
    settings.poll = 1ms;
    settings.join_timeout = Clock::Duration::max();  // for ever
    std::vector<std::future<std::vector<RendezvousRound>>> ends;
    for (int i = 0; i < 4; ++i) {
        ends.push_back(std::async(std::launch::async, [settings, i, store = open()] {
            SteadyClock clock;
            Rendezvous node(*store, "job", "node" + std::to_string(3 - i), settings, clock);
            std::vector<RendezvousRound> rounds;
            try {
                while (rounds.size() < 5) {
                    rounds.push_back(node.next_round());
                    if (i % 2 == 1) {
                        node.leave();
                    }
                }
            } catch (...) {
                store->set("job", end_of_all());  // nobody waits for this node
                throw;
            }
            return rounds;
        }));
    }
    std::vector<std::vector<RendezvousRound>> rounds;
    for (auto& end : ends) {
        rounds.push_back(end.get());
    }
    return rounds;
}

inline void finds_through_real_stores() {
    for_each_kind(real_stores(), kPatient, [](const OpenStore& open) {
        const auto rounds = five_rounds(open);
        for (std::size_t i = 0; i < 4; ++i) {
            for (std::size_t r = 0; r < 5; ++r) {
                INFO("node" << 3 - i << " is told " << text_of(rounds[i][r]));
                CHECK(rounds[i][r].number == static_cast<std::int64_t>(r) + 1);
                CHECK(rounds[i][r].rank == static_cast<int>(3 - i));
                CHECK(rounds[i][r].nodes == Names{"node0", "node1", "node2", "node3"});
            }
        }
        const auto store = open();
        CHECK(store->num_keys() == 1);
        CHECK(RendezvousState::from(store->get("job")).round >= 5);
    });
}

}  // namespace dist::harness
