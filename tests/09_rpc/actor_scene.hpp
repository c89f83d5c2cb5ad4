// Ranks with actors that keep a diary, and drivers that call them. What a call brought back is
// noted as a line of text.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/byte_parts.hpp"
#include "exercises/09_rpc/actor_mesh.hpp"
#include "tests/09_rpc/actor_network.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

class ActorScene;

/// Writes down what it is told. Endpoints, and what stands in `text`:
///     add   a word; the answer is the diary
///     fail  a word, which it writes down; then it throws that word
///     odd   a number, which it throws
///     pick  places; it fails if its own is among them, and else is as add
///     ask   NAME PLACE ENDPOINT TEXT: it calls that actor, between "(" and ")"
///     try   as ask, and an error is no failure: it writes "!"
///     read  is answered by the diary, where by its rank
class Diary : public Actor {
  public:
    Diary(ActorScene& scene, ActorMesh& mesh, std::string name, int place, int rank)
        : scene_(scene), mesh_(mesh), name_(std::move(name)), place_(place), rank_(rank) {}

    Bytes call(const std::string& endpoint, std::span<const std::byte> arguments) override;

    [[nodiscard]] Bytes snapshot() const override;
    void restore(std::span<const std::byte> snapshot) override { diary_ = to_text(snapshot); }

  private:
    void write(const std::string& word) { diary_ += (diary_.empty() ? "" : " ") + word; }
    void ask(const std::string& text);

    ActorScene& scene_;
    ActorMesh& mesh_;
    std::string name_;
    int place_;
    int rank_;
    std::string diary_;
};

/// What a driver does: it makes calls, and notes what they bring.
class Driver {
  public:
    Driver(ActorScene& its_scene, ActorMesh& its_mesh, ActorRpc& its_rpc)
        : scene(its_scene), mesh(its_mesh), rpc(its_rpc) {}

    ActorMesh::Call begin(
        const std::string& name,
        const ActorSlice& slice,
        const std::string& endpoint,
        const std::string& text
    ) {
        return mesh.call_async(name, slice, endpoint, to_bytes(text));
    }

    /// "0: 1 2; 1 failed: add: why; 2: 1 2"
    std::string end(const ActorMesh::Call& call) {
        return text_of([&] { return mesh.wait(call); });
    }

    std::string call(
        const std::string& name,
        const ActorSlice& slice,
        const std::string& endpoint,
        const std::string& text = ""
    ) {
        return text_of([&] { return mesh.call(name, slice, endpoint, to_bytes(text)); });
    }

    /// "" if it went well, else as call.
    std::string restart(const std::string& name, int place) {
        return text_of([&] {
            mesh.restart(name, place);
            return std::map<int, Bytes>();
        });
    }

    std::string snapshot(const std::string& name) {
        return text_of([&] {
            mesh.snapshot(name);
            return std::map<int, Bytes>();
        });
    }

    /// Goes on when so much time has passed, and runs what others call meanwhile.
    void pause(Ms duration) {
        for (Ms ms{0}; ms < duration; ++ms) {
            rpc.serve();
            rpc.sleep(1ms);
        }
    }

    ActorScene& scene;
    ActorMesh& mesh;
    ActorRpc& rpc;

  private:
    static std::string text_of(const std::function<std::map<int, Bytes>()>& call) {
        std::map<int, std::string> lines;
        const auto keep = [&](const std::map<int, Bytes>& answers) {
            for (const auto& [place, answer] : answers) {
                lines[place] += std::to_string(place) + ": " + to_text(answer);
            }
        };
        try {
            keep(call());
        } catch (const MeshError& error) {
            keep(error.answers());
            for (const ActorFailure& one : error.failures()) {
                lines[one.place] += std::to_string(one.place) + " failed: " + one.reason;
            }
        }
        std::string text;
        for (const auto& [place, line] : lines) {
            text += (text.empty() ? "" : "; ") + line;
        }
        return text;
    }
};

class ActorScene {
  public:
    struct Spawn {
        std::string name;
        int snapshot_every = 0;
    };

    VirtualTime time;
    ActorNetwork network;
    std::vector<ActorDim> dims;
    std::vector<Spawn> spawns = {{"a"}};
    std::map<int, std::function<void(Driver&)>> drivers = {};  // by rank
    std::map<int, Ms> dies = {};                               // ranks, and when
    std::set<int> no_room = {};                                // places whose actors cannot be made
    std::vector<std::string> notes = {};                       // what calls brought back
    std::map<std::string, int> handled = {};                   // "a 1 add 7": how often

    ActorScene(int p, std::vector<ActorDim> its_dims, std::uint64_t seed = 1)
        : time(seed), network(time, p, seed), dims(std::move(its_dims)) {}

    void note(const std::string& line) { notes.push_back(line); }

    /// Plays until all drivers have ended. Says what is wrong, if something is.
    Comparison play() {
        std::vector<std::function<void()>> plots;
        for (const auto& [rank, driver] : drivers) {
            driving_.insert(rank);
        }
        for (int rank = 0; rank < network.size(); ++rank) {
            ranks_.push_back(std::make_unique<Rank>(network, rank, dims));
            plots.emplace_back([this, rank] {
                try {
                    live(rank);
                } catch (...) {
                    driving_.erase(rank);
                    network.kill(rank);
                    throw;
                }
            });
        }
        for (const auto& [rank, when] : dies) {
            plots.emplace_back([this, rank = rank, when = when] {
                time.sleep(when);
                network.kill(rank);
            });
        }
        const std::vector<std::string> ends = time.run(plots);
        for (int rank = 0; rank < network.size(); ++rank) {
            const std::string& end = ends[static_cast<std::size_t>(rank)];
            if (!end.empty() && end != Killed().what()) {
                return {false, "rank " + std::to_string(rank) + ": " + end};
            }
        }
        for (const auto& [message, times] : handled) {
            if (times > 1) {
                network.note("\"" + message + "\" is handled " + std::to_string(times) + " times");
            }
        }
        return {network.wrong.empty(), network.wrong};
    }

    /// Whether the calls brought this back, a line for each.
    [[nodiscard]] Comparison told(const std::vector<std::string>& expected) const {
        for (std::size_t i = 0; i < std::max(notes.size(), expected.size()); ++i) {
            const std::string line = i < notes.size() ? notes[i] : "nothing";
            const std::string right = i < expected.size() ? expected[i] : "nothing";
            if (line != right) {
                return {false, text_of_note(i, line, right)};
            }
        }
        return {};
    }

  private:
    static std::string text_of_note(
        std::size_t i, const std::string& line, const std::string& right
    ) {
        return "note " + std::to_string(i + 1) + ": \"" + line + "\". It has to be \"" + right +
               "\"";
    }

    struct Rank {
        Rank(ActorNetwork& network, int rank, std::vector<ActorDim> dims)
            : rpc(network, rank), mesh_dims(std::move(dims)) {}

        ActorRpc rpc;
        std::vector<ActorDim> mesh_dims;
        std::unique_ptr<ActorMesh> mesh = {};
    };

    void live(int rank) {
        Rank& me = *ranks_[static_cast<std::size_t>(rank)];
        me.mesh = std::make_unique<ActorMesh>(me.rpc, me.mesh_dims);
        for (const Spawn& spawn : spawns) {
            const auto make = [this, &me, rank,
                               name = spawn.name](int place) -> std::unique_ptr<Actor> {
                if (no_room.contains(place)) {
                    throw std::runtime_error("no room");
                }
                return std::make_unique<Diary>(*this, *me.mesh, name, place, rank);
            };
            me.mesh->spawn(spawn.name, make, spawn.snapshot_every);
        }
        me.rpc.sleep(1ms);  // all have spawned
        if (drivers.contains(rank)) {
            Driver driver(*this, *me.mesh, me.rpc);
            drivers.at(rank)(driver);
            driving_.erase(rank);
        }
        Ms end = time.now();
        while (time.now() < end + 50ms) {  // what is on its way comes to its end
            me.rpc.serve();
            me.rpc.sleep(1ms);
            end = driving_.empty() ? end : time.now();
        }
    }

    std::vector<std::unique_ptr<Rank>> ranks_;  // until nothing moves any more
    std::set<int> driving_;                     // ranks whose drivers have not ended
};

inline Bytes Diary::call(const std::string& endpoint, std::span<const std::byte> arguments) {
    const std::string text = to_text(arguments);
    if (endpoint == "where") {
        return to_bytes(std::to_string(rank_));
    }
    if (endpoint == "add" || endpoint == "fail" || endpoint == "pick") {
        ++scene_.handled[name_ + " " + std::to_string(place_) + " " + endpoint + " " + text];
        write(text);
    }
    if (endpoint == "fail") {
        throw std::runtime_error(text);
    }
    if (endpoint == "odd") {
        throw std::stoi(text);
    }
    if (endpoint == "pick" && text.find(std::to_string(place_)) != std::string::npos) {
        throw std::runtime_error("out of memory");
    }
    if (endpoint == "ask") {
        ask(text);
    }
    if (endpoint == "try") {
        try {
            ask(text);
        } catch (const MeshError&) {
            write("!");
        }
    }
    return to_bytes(diary_);
}

inline Bytes Diary::snapshot() const {
    if (diary_.ends_with("nobody can save this")) {
        throw std::runtime_error("cannot be saved");
    }
    return to_bytes(diary_);
}

inline void Diary::ask(const std::string& text) {
    std::istringstream words(text);
    std::string name;
    int place = 0;
    std::string endpoint;
    std::string rest;
    words >> name >> place >> endpoint >> std::ws;
    std::getline(words, rest);
    write("(");
    mesh_.call(name, {{"x", place}}, endpoint, to_bytes(rest));
    write(")");
}

inline constexpr const char* kLegend =
    "a note is what a call brought back, by place: the actor's diary. It writes down each word "
    "that "
    "it is told; ( is where it calls another actor, ) where it has that one's answer";

inline void on_one_rank(void (*test)()) {
    on_ranks({1}, [&](const Communicator&) {
        INFO(kLegend);
        test();
    });
}

/// Runs `body` with several seeds: who goes on first where several could, how long messages take.
inline void with_seeds(std::uint64_t seeds, const std::function<void(std::uint64_t seed)>& body) {
    on_ranks_each(
        {1}, [&](int) { return seeds; },
        [&](const Communicator&, std::size_t number) {
            INFO(kLegend);
            INFO("seed " << number + 1);
            body(number + 1);
        }
    );
}

}  // namespace dist::harness
