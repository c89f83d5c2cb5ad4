// Replicas that train in a virtual time: each asks for quorums, takes steps, dies, stands still or
// comes late, as the test says.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/10_elastic/quorum_training.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

class QuorumScene {
  public:
    std::vector<Life> lives;
    QuorumSettings settings = {.min_replicas = 1, .join_timeout = 1000ms, .dead_after = 300ms};
    Training training;
    std::size_t bytes_per_ms = 0;  // of long messages; 0: they are there at once
    bool may_lose = false;         // a step of one that stood still
    std::vector<Quorum> quorums;   // all that were formed

    explicit QuorumScene(int p, std::uint64_t seed = 1)
        : lives(static_cast<std::size_t>(p)), time_(seed), places_(lives.size()) {}

    /// Plays until all that live have taken all steps. Whether all went as it must.
    Comparison play() {
        std::vector<std::function<void()>> plots;
        for (std::size_t who = 0; who < lives.size(); ++who) {
            lives[who].name = std::string(1, static_cast<char>('a' + who));
            lives[who].state = training.first_state(who);
            lives[who].fate.die = [this, who] {
                kill(who);
                throw Killed();
            };
            plots.emplace_back([this, who] { live_and_tell(who); });
            if (lives[who].dies >= 0ms) {
                plots.emplace_back([this, who] {
                    time_.sleep(lives[who].dies);
                    kill(who);
                });
            }
        }
        time_.run(plots);
        for (std::size_t who = 0; who < lives.size() && wrong_.empty(); ++who) {
            if (!lives[who].fate.is_dead) {
                judge(lives[who]);
            }
        }
        return {wrong_.empty(), wrong_};
    }

  private:
    // Where quorums are formed: what is known of a replica, and what it was told.
    struct Place {
        Replica replica = {};
        std::optional<Quorum> told = {};
        std::int64_t number = 0;
        std::unique_ptr<QuorumTransport> transport = {};
    };
    using Rows = std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::string, Row>>;

    // Ends all.
    [[noreturn]] void fail(const std::string& text) {
        wrong_ = wrong_.empty() ? text : wrong_;
        for (std::size_t who = 0; who < lives.size(); ++who) {
            kill(who);
        }
        throw Killed();
    }

    void demand(const Life& life, const Comparison& result) {
        if (!result) {
            fail("replica " + life.name + ": " + result.text);
        }
    }

    void kill(std::size_t who) {
        if (!lives[who].fate.is_dead) {
            places_[who].replica.heard = time_.now();
        }
        lives[who].fate.is_dead = true;
        for (const auto& [number, network] : networks_) {
            const auto found = std::ranges::find(network->members, lives[who].name);
            if (found != network->members.end()) {
                network->kill(static_cast<int>(found - network->members.begin()));
            }
        }
    }

    void wait_for(std::size_t who, Ms duration) {
        time_.sleep(duration);
        if (lives[who].fate.is_dead) {
            throw Killed();
        }
    }

    // Who lives is heard all the time.
    std::vector<Replica> replicas() {
        std::vector<Replica> all;
        for (std::size_t who = 0; who < lives.size(); ++who) {
            if (lives[who].comes <= time_.now() && lives[who].ended < 0ms) {
                Replica& replica = places_[who].replica;
                replica.name = lives[who].name;
                replica.heard = lives[who].fate.is_dead ? replica.heard : time_.now();
                all.push_back(replica);
            }
        }
        return all;
    }

    void tell(const Quorum& quorum) {
        for (const std::string& member : quorum.members) {
            Place& place = places_.at(static_cast<std::size_t>(member.front() - 'a'));
            if (!place.replica.asked) {
                fail("replica " + member + " is in a quorum, and has not asked for it");
            }
            place.told = quorum;
            place.replica.asked.reset();
        }
        quorums.push_back(quorum);
        auto& network = networks_[quorum.number];
        if (!network) {
            network = std::make_unique<QuorumNetwork>(time_, quorum.members);
            network->bytes_per_ms = bytes_per_ms;
        }
        if (network->members != quorum.members) {
            fail("two quorums with other members have number " + std::to_string(quorum.number));
        }
        for (std::size_t who = 0; who < lives.size(); ++who) {
            if (lives[who].fate.is_dead) {
                kill(who);
            }
        }
    }

    Quorum ask(std::size_t who, bool failed) {
        Place& place = places_[who];
        place.replica.asked = time_.now();
        place.replica.step = lives[who].step;
        place.replica.failed = failed;
        while (!place.told) {
            const Quorum previous = quorums.empty() ? Quorum() : quorums.back();
            if (const auto next = quorum(replicas(), previous, settings, time_.now())) {
                tell(*next);
            }
            wait_for(who, place.told ? 0ms : 10ms);
        }
        return *std::exchange(place.told, std::nullopt);
    }

    int connect(std::size_t who, const Quorum& quorum) {
        Place& place = places_[who];
        const auto found = std::ranges::find(quorum.members, lives[who].name);
        const auto rank = static_cast<int>(found - quorum.members.begin());
        if (place.number != quorum.number) {
            place.transport.reset();
            place.transport = std::make_unique<QuorumTransport>(
                *networks_.at(quorum.number), rank, lives[who].fate
            );
            place.number = quorum.number;
        }
        return rank;
    }

    void live_and_tell(std::size_t who) {
        try {
            live(who);
        } catch (const Killed&) {
        } catch (const NotImplemented&) {
            throw;
        } catch (const std::exception& error) {
            fail("replica " + lives[who].name + ": " + error.what());
        }
    }

    void live(std::size_t who) {
        constexpr std::size_t kMost = 20;
        Life& life = lives[who];
        wait_for(who, life.comes);
        wait_for(who, life.asks);
        QuorumStep step(life.state);
        bool failed = false;
        while (life.step < training.steps) {
            if (life.step == life.at) {
                wait_for(who, std::exchange(life.stands_still, 0ms));
            }
            const Quorum quorum = ask(who, failed);
            attempt(who, quorum, step);
            failed = !life.commits.back();
            demand(life, {life.commits.size() < kMost, "tries again and again"});
        }
        life.ended = time_.now();
        places_[who].transport.reset();
    }

    void attempt(std::size_t who, const Quorum& quorum, QuorumStep& step) {
        Life& life = lives[who];
        const int rank = connect(who, quorum);
        const Row before = life.state;
        wait_for(who, life.begins);
        if (!quorum.heals(rank)) {
            same_as_others(begun_, quorum, life, "begins");
        }
        step.begin(quorum, *places_[who].transport);
        Row gradient = training.gradient(quorum, rank);
        wait_for(who, life.computes);
        std::span<float> rest = gradient;
        for (const std::size_t layer : training.layers) {
            step.all_reduce(rest.first(layer));
            rest = rest.subspan(layer);
        }
        if (std::ssize(life.commits) == life.errs_in) {
            step.report_error();
        }
        life.commits.push_back(step.should_commit());
        wait_for(who, 0ms);
        life.step = step.step();
        if (quorum.heals(rank)) {
            demand(life, is_whole(quorum, life, before));
        }
        if (life.commits.back()) {
            take(life, quorum, gradient);
        }
    }

    void take(Life& life, const Quorum& quorum, const Row& gradient) {
        const std::string number = std::to_string(quorum.step + 1);
        demand(
            life, {life.step == quorum.step + 1,
                   "has taken step " + number + ", and step() is " + std::to_string(life.step)}
        );
        const Comparison mean = training.is_mean(gradient, quorum);
        demand(life, {mean.equal, "step " + number + ", " + mean.text});
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            life.state[i] += gradient[i];
        }
        life.state[training.place_of(quorum.step)] = static_cast<float>(quorum.number);
        life.own[quorum.step] = quorum.number;
        same_as_others(committed_, quorum, life, "has taken");
    }

    // Compares a state with that of the first replica that came there in this quorum.
    void same_as_others(Rows& rows, const Quorum& quorum, const Life& life, const char* what) {
        const auto& [other, row] =
            rows.try_emplace({quorum.number, quorum.step}, life.name, life.state).first->second;
        const Comparison result = same(life.state, row);
        const std::string number = std::to_string(quorum.step + 1);
        demand(
            life,
            {result.equal, std::string(what) + " step " + number +
                               " with other weights than replica " + other + ": " + result.text}
        );
    }

    // Whether one that was to heal has the other's state, or its own one.
    Comparison is_whole(const Quorum& quorum, const Life& life, const Row& before) {
        const auto found = begun_.find({quorum.number, quorum.step});
        const bool is_healed = found != begun_.end() && life.state == found->second.second;
        return {
            is_healed || life.state == before,
            "has half of the weights that it was to copy, and half of its own"};
    }

    void judge(const Life& life) {
        Comparison result = training.is_complete(life, lives.size());
        if (result && !may_lose) {
            result = training.keeps_its_steps(life);
        }
        for (const Life& other : lives) {
            if (result && !other.fate.is_dead) {
                const Comparison equal = same(life.state, other.state);
                result = {
                    equal.equal, "at the end other weights than " + other.name + ": " + equal.text};
            }
        }
        if (!result) {
            wrong_ = "replica " + life.name + ": " + result.text;
        }
    }

    VirtualTime time_;
    std::map<std::int64_t, std::unique_ptr<QuorumNetwork>> networks_;
    std::vector<Place> places_;
    Rows begun_;
    Rows committed_;
    std::string wrong_;
};

}  // namespace dist::harness
