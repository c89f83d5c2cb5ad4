// A world: p ranks as threads of one virtual time, and a network between them that delays, fills up, tears and loses messages, and
// whose ranks die when the test says so.
//
//     TEST_CASE("a call to a rank that has died fails at once") {
//         worlds({3}, [](World& world) {
//             world.slowest = 3ms;
//             world.dies[2] = 100ms;
//             world.play([](Place& me) {
//                 ...
//                 must(me.now() >= 100ms, "rank ", me.rank, " leaves before rank 2 has died");
//             });
//             CHECK(world.edge(0, 1).messages == 2);
//         });
//     }
//
// A play that goes wrong fails the test at the line of its must(), or of play(): with the rank, the time, and what each rank waits for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/transport.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/world/virtual_time.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;

class World;

/// Goes through the code under test, and ends the thread of a rank that has died.
struct Killed : std::runtime_error {
    Killed() : std::runtime_error("killed") {}
};

/// What lies between two ranks, in one direction.
struct Edge {
    struct Mail {
        std::span<const std::byte> data;  // the sender's
        std::vector<std::byte> sent;      // as it was when it was sent
        std::uint32_t group;
        int tag;
        Ms due;  // when it is there
        Request request;
    };
    struct Receive {
        std::span<std::byte> place;
        std::uint32_t group;
        int tag;
        Request request;
    };

    std::optional<Ms> delay;  // of each message, in place of World::slowest
    bool is_full = false;     // takes nothing more: a send is not done until World::open()
    std::optional<long>
        tears_at;  // of this message, the first is 0, half arrives: then its sender dies
    std::optional<long> loses;  // this message never arrives, and its sender is told that it has
    long messages = 0;          // all that were sent
    long bytes = 0;
    std::vector<Ms> begun = {};  // when each of them was
    std::deque<Mail> mail = {};  // on its way, or there
    std::deque<Receive> posted = {};
};

/// The transport of a rank.
class WorldTransport : public Transport {
  public:
    WorldTransport(World& world, int rank) : world_(world), rank_(rank) {}

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override;
    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override;
    Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) override;
    Arrival wait(const Request& request) override;
    bool test(const Request& request) override;
    Arrival probe(int src, std::uint32_t group, int tag) override;

  private:
    void check(int other) const;
    void look();
    void until(const std::string& call, const std::function<bool()>& holds);

    World& world_;
    int rank_;
    int looks_ = 0;  // since anything has moved
    long moves_ = -1;
    Ms looked_{-1};
};

/// The clock of a rank: `rank` hours ahead, since clocks of machines differ. A sleep of 0 ms lets others go on; when nothing has moved
/// since all of them could, it takes as long as one of 1 ms, as where others have the processor.
class WorldClock : public Clock {
  public:
    WorldClock(World& world, int rank)
        : skew(std::chrono::hours(rank)), world_(world), rank_(rank) {}

    Duration now() override;
    void sleep(Duration duration) override;

    Ms skew;
    Ms late{0};                   // so much longer than it should each sleep takes
    bool is_alone = false;        // nobody else needs the processor: a sleep of 0 ms takes no time
    std::vector<Ms> sleeps = {};  // all there were

  private:
    World& world_;
    int rank_;
    int passes_ = 0;  // sleeps of 0 ms since anything has moved
    long moves_ = -1;
};

/// A rank.
class Place {
  public:
    Place(World& its_world, int its_rank);
    virtual ~Place() = default;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    [[nodiscard]] Ms now() const;
    void sleep(Ms duration) { clock.sleep(duration); }

    /// Sleeps until then; not if it is over.
    void sleep_until(Ms time);

    /// Calls `look` each millisecond until it returns true.
    void until(const std::function<bool()>& look);

    World& world;
    const int rank;
    const int p;
    WorldTransport transport;
    WorldClock clock;
    std::string does = {};  // told of a play that goes wrong: "waits in call echo to rank 2"
};

class World {
  public:
    explicit World(int p, std::uint64_t its_seed = 1);

    /// Each rank does this, in a thread of its own. Fails the test if one throws, unless it died. What a place of a test's own holds is
    /// there until all ranks have ended.
    template <class Own = Place>
    void play(
        const std::function<void(std::type_identity_t<Own>& me)>& body,
        TestLine at = TestLine::here()
    ) {
        play_as(
            [this](int rank) { return std::make_unique<Own>(*this, rank); },
            [&](Place& me) { body(static_cast<Own&>(me)); }, at
        );
    }

    [[nodiscard]] int size() const { return p_; }
    [[nodiscard]] Edge& edge(int src, int dst);
    [[nodiscard]] long messages() const;  // all that were sent
    [[nodiscard]] bool dead(int rank) const { return is_dead_.at(static_cast<std::size_t>(rank)); }

    /// Ends the rank. What it has sent and nobody has received is lost, unless it is `buffered`.
    void kill(int rank);

    /// An edge that was full takes what it was to take, and all that follows.
    void open(int src, int dst);

    /// Throws Killed in the thread of a rank that has died.
    void live(int rank) const;

    const std::uint64_t seed;
    VirtualTime time;
    Ms slowest{0};                 // a message takes from 0 to so long, by the seed
    std::size_t bytes_per_ms = 0;  // and so much longer if it is long; 0: no longer
    bool buffered = false;         // a send is done at once; otherwise when its receive has it
    std::map<int, Ms> dies = {};   // ranks, and when
    Ms patience{0};                // a clock that asks later than this ends the play; 0: 16 s / p

    /// Runs beside the ranks, in their time: "sleep, kill one, sleep". Its must() ends the play as theirs do.
    std::function<void()> meanwhile = {};

    /// Called before a rank sends or receives: it may kill.
    std::function<void(int rank, const char* call, int other, std::size_t bytes)> before =
        [](int, const char*, int, std::size_t) {};

    long moves = 0;  // messages that left or came, deaths

  private:
    friend class WorldTransport;
    friend class WorldClock;

    using Make = std::function<std::unique_ptr<Place>(int rank)>;
    using Body = std::function<void(Place& me)>;

    void play_as(const Make& make, const Body& body, TestLine at);
    void live_as(int rank, const Make& make, const Body& body);
    void happen();
    void fail(int rank, const std::string& what, std::optional<TestLine> at);
    [[nodiscard]] std::string picture() const;
    [[nodiscard]] Ms arrival(const Edge& on, std::size_t bytes, std::uint32_t group, int tag);
    void move(int src, int dst);
    void hand_over(Edge::Mail& mail, const Edge::Receive& receive, int src);
    void end(Pending& request, const std::string& error);

    int p_;
    std::vector<bool> is_dead_;  // by rank
    std::vector<Edge> edges_;
    std::vector<std::unique_ptr<Place>> places_;  // by rank, until all have ended
    std::uint64_t drawn_ = 0;
    std::string wrong_;
    std::optional<TestLine> at_;
};

/// Worlds of these sizes, each with three seeds: they say how long messages take, and who goes on first where several could. Runs on
/// one rank of the job; stops at the first that fails.
void worlds(const std::vector<int>& sizes, const std::function<void(World& world)>& body);

/// Runs `body` on one rank of the job.
void on_one(const std::function<void()>& body);

}  // namespace dist::harness
