// Ranks that connect through a network that errs. Each function is the body of a TEST_CASE.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/mesh_ranks.hpp"
#include "tests/harness/network/faulty_network.hpp"

namespace dist::harness {

/// The store as one rank reads it: where another one listens, it finds an edge of the network that leads there.
class Detour : public Store {
  public:
    Detour(Store& store, FaultyNetwork& network, Faults faults)
        : store_(store), network_(network), faults_(faults) {}

    /// The edge to a rank whose address was read; 0 if it was not.
    [[nodiscard]] int edge_to(int rank) const {
        const auto found = edges_.find("mesh/" + std::to_string(rank));
        return found == edges_.end() ? 0 : found->second;
    }

    /// How often each call was made, by its name.
    [[nodiscard]] const std::map<std::string, int>& calls() const { return calls_; }

    /// Called with each edge before anybody connects to it.
    std::function<void(int edge)> prepare = [](int) {};

    std::string get(const std::string& key) override {
        ++calls_["get"];
        const std::string at = store_.get(key);
        const int port = std::stoi(at.substr(at.rfind(':') + 1));
        if (!edges_.contains(key)) {
            edges_[key] = network_.edge_to(port, faults_);
            prepare(edges_[key]);
        }
        return "127.0.0.1:" + std::to_string(edges_[key]);
    }
    void set(const std::string& key, const std::string& value) override {
        ++calls_["set"];
        store_.set(key, value);
    }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        ++calls_["add"];
        return store_.add(key, amount);
    }
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override {
        ++calls_["compare_set"];
        return store_.compare_set(key, expected, desired);
    }
    bool check(const std::vector<std::string>& keys) override {
        ++calls_["check"];
        return store_.check(keys);
    }
    void wait(const std::vector<std::string>& keys, Duration timeout) override {
        ++calls_["wait"];
        store_.wait(keys, timeout);
    }
    bool erase(const std::string& key) override {
        ++calls_["erase"];
        return store_.erase(key);
    }
    std::int64_t num_keys() override {
        ++calls_["num_keys"];
        return store_.num_keys();
    }

  private:
    Store& store_;
    FaultyNetwork& network_;
    Faults faults_;
    std::map<std::string, int> edges_;
    std::map<std::string, int> calls_;
};

inline void connects_byte_by_byte() {
    alone([] {
        constexpr int kRanks = 4;
        HashStore store(kPatience);
        FaultyNetwork network(seed());
        std::vector<std::unique_ptr<Detour>> detours;
        std::vector<std::unique_ptr<Rank>> ranks;
        for (int r = 0; r < kRanks; ++r) {
            detours.push_back(std::make_unique<Detour>(
                store, network, Faults{.most_piece = 1, .most_delay_us = 5000}
            ));
            ranks.push_back(std::make_unique<Rank>(*detours.back(), r, kRanks));
        }
        std::vector<Sockets> mesh;
        for (int r = 0; r < kRanks; ++r) {
            Came came = ranks[static_cast<std::size_t>(r)]->end();
            INFO(
                "rank " << r << ", whose four bytes come one by one, and those of all others: "
                        << came.error
            );
            REQUIRE(came.sockets.size() == kRanks);
            mesh.push_back(std::move(came.sockets));
        }
        for (int r = 0; r < kRanks; ++r) {
            std::map<std::string, int> most = {{"set", 1}, {"wait", r}, {"get", r}};
            for (const auto& [call, times] : detours[static_cast<std::size_t>(r)]->calls()) {
                INFO("rank " << r << " called " << call << " of the store");
                CHECK(times <= most[call]);
            }
        }
        for (std::uint32_t high = 0; high < mesh.size(); ++high) {
            for (std::uint32_t low = 0; low < high; ++low) {
                INFO("ranks " << high << " and " << low);
                say(mesh[high][low], 100 * high + low);
                say(mesh[low][high], 100 * low + high);
                CHECK(heard(mesh[low][high]) == std::to_string(100 * high + low));
                CHECK(heard(mesh[high][low]) == std::to_string(100 * low + high));
                const Carried carried =
                    network.carried(detours[high]->edge_to(static_cast<int>(low)));
                CHECK(carried.connections == 1);
                CHECK(carried.bytes[Way::there] == 8);
                CHECK(carried.bytes[Way::back] == 4);
            }
        }
    });
}

inline void names_who_is_cut_off() {
    alone([] {
        const std::map<std::string, std::function<void(FaultyNetwork&, int)>> faults = {
            {"its way is cut",
             [](FaultyNetwork& network, int edge) { network.cut(edge, Way::there); }},
            {"its bytes are lost",
             [](FaultyNetwork& network, int edge) { network.drop(edge, Way::there, 4); }},
            {"three of its bytes are lost",
             [](FaultyNetwork& network, int edge) { network.drop(edge, Way::there, 3); }},
            {"its connection is reset after two bytes",
             [](FaultyNetwork& network, int edge) { network.reset_after(edge, Way::there, 2); }},
        };
        for (const auto& [what, fault] : faults) {
            INFO("rank 1 connects, and " << what);
            HashStore store(kPatience);
            FaultyNetwork network(seed());
            Detour detour(store, network, {});
            detour.prepare = [&](int edge) { fault(network, edge); };
            Rank lower(store, 0, 2, kShort);
            Rank higher(detour, 1, 2, kShort);
            const Came came = lower.end();
            INFO("rank 0 threw: " << came.error);
            CHECK(names(came.error, 1));
            higher.end();  // it may have gone before: nothing of it is waited for
        }
    });
}

}  // namespace dist::harness
