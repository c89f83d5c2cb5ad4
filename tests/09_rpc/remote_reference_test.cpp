// remote_reference: an object is there as long as anybody uses it, and no longer. First what is
// said, word by word; then three ranks in all orders of all that can happen; then four ranks, at
// random.
#include "exercises/09_rpc/remote_reference.hpp"

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/09_rpc/reference_walk.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Lines = std::vector<std::string>;

/// What was said since the last time.
Comparison said(
    RefWorld& world, const std::string& when, const Lines& expected, bool in_any_order = false
) {
    const Comparison result = world.said(expected, in_any_order);
    return {result.equal, text(when, ": ", result.text)};
}

/// The same, when all is delivered.
Comparison says(RefWorld& world, const std::string& when, const Lines& expected) {
    world.deliver_all();
    return said(world, when, expected);
}

Comparison counts(RefWorld& world, int rank, const RefCounts& expected) {
    const RefCounts got = world.at(rank).counts();
    return {
        got == expected,
        text("rank ", rank, " must count ", text_of(expected), ", and counts ", text_of(got))};
}

Comparison is_there(RefWorld& world, RefId id) {
    return {
        world.fate(id).freed == 0,
        text("the object of reference ", to_string(id), " is freed, and it has a use")};
}

Comparison is_freed(RefWorld& world, RefId id) {
    return {
        world.fate(id).freed == 1,
        text("the object of reference ", to_string(id), " has no use, and is kept")};
}

/// By both ways to ask.
Comparison is_confirmed(RefWorld& world, int rank, std::size_t i = 0) {
    return {
        world.told(rank, i) == RefWorld::kConfirmed && world.ref(rank, i).is_confirmed(),
        text("a use on rank ", rank, " has to be confirmed")};
}

/// Neither confirmed nor given up.
Comparison waits(RefWorld& world, int rank, std::size_t i = 0) {
    return {
        world.told(rank, i).empty() && !world.ref(rank, i).is_confirmed(),
        text("a use on rank ", rank, " must not be confirmed yet")};
}

/// What must be when nobody has a use any more.
Comparison all_is_over(RefWorld& world) {
    world.look_at_end();
    return world.result();
}

/// It throws an Error.
Comparison fails(const std::string& what, const std::function<void()>& call) {
    return {thrown_as(call) == "dist::Error", what + " must throw an Error"};
}

Comparison names(const std::string& what, const std::string& error, const Lines& all) {
    for (const std::string& name : all) {
        if (error.find(name) == std::string::npos) {
            return {
                false,
                text(what, " must name ", name, "; its error: ", error.empty() ? "none" : error)};
        }
    }
    return {};
}

/// It is given up, and nobody can be given one by it.
Comparison is_given_up(RefWorld& world, int rank) {
    const std::string use = text("of a use on rank ", rank, " that is given up, ");
    std::string told;
    world.ref(rank).when_confirmed([&](const std::exception_ptr& error) { told = text_of(error); });
    if (world.told(rank).empty() || world.told(rank) == RefWorld::kConfirmed ||
        world.ref(rank).is_confirmed() || told.empty()) {
        return {false, use + "when_confirmed() must tell an Error"};
    }
    for (int to = 0; to < world.size(); ++to) {
        const auto fork = [&] { static_cast<void>(world.ref(rank).fork_for(to)); };
        if (const Comparison failed = fails(text(use, "fork_for(", to, ")"), fork); !failed) {
            return failed;
        }
    }
    return {};
}

/// When it says something in the next 20 s, in ms, if nobody answers.
Comparison is_sent_at(
    RefWorld& world, int rank, const std::string& what, const std::vector<long>& expected
) {
    std::vector<long> times;
    world.said({});
    for (long ms = 1; ms <= 20000; ++ms) {
        world.pass(rank, 1ms);
        if (!world.said({})) {
            times.push_back(ms);
        }
    }
    return {
        times == expected,
        text(what, " is sent again after ", times, " ms; it must be after ", expected)};
}

/// A rank hands its use to the function that waits for it, and has it nowhere else.
void hand_over(RefWorld& world, int rank) {
    world.ref(rank).when_confirmed([ref = world.ref(rank)](const std::exception_ptr&) {});
    world.drop(rank);
}

/// The first letter is a message. Its ACK is lost, so it is sent again after a second, and acknowledged again.
Comparison with_a_lost_ack(RefWorld& world, const std::string& message, int from, int to) {
    const Lines both = {
        text(from, " to ", to, ": ", message), text(to, " to ", from, ": ACK of ", message)};
    world.deliver();
    if (const Comparison first = said(world, message, both); !first) {
        return first;
    }
    world.lose();
    world.pass(from, 1s);
    world.deliver();
    return said(world, message + ", whose ACK was lost", both);
}

class ReferenceLife {
  public:
    explicit ReferenceLife(std::uint64_t seed) : random_(seed), world_(4) {}

    /// Plays until nobody has a use any more, and everything has come.
    Comparison play() {
        while (now_ < kEnd && !world_.is_wrong() && !is_over()) {
            deliver();
            for (int rank = 0; rank < world_.size(); ++rank) {
                act(rank);
                world_.pass(rank, kStep);
            }
            now_ += kStep;
        }
        if (!world_.is_wrong()) {
            world_.look_at_end();
        }
        return world_.result();
    }

  private:
    static constexpr Ms kStep = 250ms;
    static constexpr Ms kActive = 15s;  // from then on uses only end
    static constexpr Ms kEnd = 150s;
    static constexpr int kDelay = 2500;       // ms, of what is not late
    static constexpr int kLate = 40000;       // ms, of what comes twice
    static constexpr int kLosses = 3;         // of a message and its ACKs together
    static constexpr std::size_t kUses = 40;  // at the same time

    int draw(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

    [[nodiscard]] bool is_over() {
        bool is_over = now_ >= kActive && world_.letters.empty();
        for (int rank = 0; rank < world_.size(); ++rank) {
            is_over =
                is_over && world_.uses(rank).empty() && world_.at(rank).counts() == RefCounts{};
        }
        return is_over;
    }

    /// Decides what becomes of each new letter.
    void send() {
        for (std::size_t i = 0; i < world_.letters.size();) {
            Letter& letter = world_.letters[i];
            if (letter.arrives >= Ms(0)) {
                ++i;
                continue;
            }
            ControlMessage message = letter.control;
            message.is_ack = false;
            if (letter.kind == Letter::Kind::control && draw(3) == 0 &&
                losses_[message] < kLosses) {
                ++losses_[message];
                world_.lose(i);
                continue;
            }
            letter.arrives = now_ + Ms(draw(kDelay));
            if (letter.kind == Letter::Kind::control && draw(4) == 0) {
                Letter again = letter;
                again.arrives = now_ + Ms(draw(kLate));
                world_.letters.push_back(again);
            }
            ++i;
        }
    }

    /// All that has come, in any order.
    void deliver() {
        for (;;) {
            send();
            std::vector<std::size_t> come;
            for (std::size_t i = 0; i < world_.letters.size(); ++i) {
                if (world_.letters[i].arrives <= now_) {
                    come.push_back(i);
                }
            }
            if (come.empty()) {
                return;
            }
            world_.deliver(come[static_cast<std::size_t>(draw(static_cast<int>(come.size())))]);
            world_.look();
        }
    }

    void act(int rank) {
        const int other = draw(world_.size());
        const int what = draw(8);
        const std::size_t n = world_.uses(rank).size();
        const std::size_t i = n == 0 ? 0 : static_cast<std::size_t>(draw(static_cast<int>(n)));
        if (now_ < kActive && objects_ < 4 && what == 0) {
            ++objects_;
            if (other == rank) {
                world_.create(rank);
            } else {
                world_.remote(rank, other);
            }
        } else if (n > 0 && (now_ >= kActive || what >= 5)) {
            world_.drop(rank, i);
        } else if (n > 0 && now_ < kActive && uses() < kUses) {
            const RemoteRef& ref = world_.ref(rank, i);
            if (ref.owner() != rank || ref.is_confirmed()) {
                world_.fork(rank, other, i);
            }
        }
        world_.look();
    }

    std::size_t uses() {
        std::size_t n = world_.letters.size();
        for (int rank = 0; rank < world_.size(); ++rank) {
            n += world_.uses(rank).size();
        }
        return n;
    }

    std::mt19937_64 random_;
    RefWorld world_;
    Ms now_{0};
    int objects_ = 0;
    std::map<ControlMessage, int> losses_;
};

constexpr Budget kNone = {};
constexpr Budget kLost = {.lost = 1};
constexpr Budget kRepeated = {.repeated = 1};
constexpr Budget kEarly = {.early = 1};

/// Goes through all orders of a plan, for each budget. What is `before` it has happened.
void in_all_orders(const Plan& before, const Plan& plan, const std::vector<Budget>& budgets) {
    on_ranks({1}, [&](const Communicator& comm) {
        for (const Budget& budget : budgets) {
            // a gate: the harness sees it move
            WalkLimits limits = {.goes_deep = true};
            limits.goes_on = [&](std::size_t) {
                same_on_all_ranks({}, comm);
                return true;
            };
            const Walked walked = walk(ReferenceGame(3, before, plan, budget), limits);
            INFO(walked.states << " states");
            REQUIRE(compared(walked));
        }
    });
}

}  // namespace

TEST_CASE("remote_reference: nobody is told of an object that only its own rank uses") {
    on_one([] {
        RefWorld world(2);
        const RefId id = world.create(0);
        std::optional<RemoteRef> copy = world.ref(0);
        CHECK(counts(world, 0, {}));
        world.drop(0);
        CHECK(is_there(world, id));
        copy.reset();
        CHECK(is_freed(world, id));
        CHECK(says(world, "an object comes and goes", {}));
    });
}

TEST_CASE("an object made by another rank: one ACK, and USER_DELETE and its ACK at the end") {
    on_one([] {
        RefWorld world(2);
        const RefId id = world.remote(1, 0);
        CHECK(waits(world, 1));
        CHECK(says(world, "rank 1 has rank 0 make it", {"0 to 1: ACK of FORK_REQUEST"}));
        CHECK(is_confirmed(world, 1));
        CHECK(counts(world, 0, {.owned = 1, .forks = 1}));
        CHECK(counts(world, 1, {.users = 1}));
        std::optional<RemoteRef> copy = world.ref(1);
        world.drop(1);
        CHECK(says(world, "a copy is left", {}));
        copy.reset();
        CHECK(says(
            world, "rank 1 ends its use", {"1 to 0: USER_DELETE", "0 to 1: ACK of USER_DELETE"}
        ));
        CHECK(is_freed(world, id));
        CHECK(all_is_over(world));
    });
}

TEST_CASE("the owner gives users a use without a message") {
    on_one([] {
        RefWorld world(3);
        const RefId id = world.create(0);
        world.fork(0, 1);
        world.fork(0, 2);
        CHECK(counts(world, 0, {.owned = 1, .forks = 2}));
        world.drop(0);
        CHECK(says(world, "the calls come", {}));
        CHECK(is_confirmed(world, 1));
        world.drop(1);
        CHECK(says(
            world, "rank 1 ends its use", {"1 to 0: USER_DELETE", "0 to 1: ACK of USER_DELETE"}
        ));
        CHECK(is_there(world, id));
        CHECK(counts(world, 0, {.owned = 1, .forks = 1}));
        world.drop(2);
        CHECK(says(
            world, "rank 2 ends its use", {"2 to 0: USER_DELETE", "0 to 2: ACK of USER_DELETE"}
        ));
        CHECK(is_freed(world, id));
        CHECK(all_is_over(world));
    });
}

TEST_CASE("a user gives the owner a use: CHILD_ACCEPT and its ACK") {
    on_one([] {
        RefWorld world(2);
        const RefId id = world.remote(1, 0);
        CHECK(says(world, "it is made", {"0 to 1: ACK of FORK_REQUEST"}));
        world.fork(1, 0);
        world.drop(1);
        CHECK(says(
            world, "rank 1 gives the owner a use, and ends its own",
            {"0 to 1: CHILD_ACCEPT", "1 to 0: ACK of CHILD_ACCEPT", "1 to 0: USER_DELETE",
             "0 to 1: ACK of USER_DELETE"}
        ));
        CHECK(is_confirmed(world, 0));
        CHECK(is_there(world, id));
        world.drop(0);
        CHECK(says(world, "the owner ends its use", {}));
        CHECK(is_freed(world, id));
        CHECK(all_is_over(world));
    });
}

TEST_CASE("a user gives a user a use: FORK_REQUEST, CHILD_ACCEPT, and their ACKs") {
    on_one([] {
        RefWorld world(4);
        const RefId id = world.remote(1, 0);
        CHECK(says(world, "it is made", {"0 to 1: ACK of FORK_REQUEST"}));
        world.fork(1, 2);
        world.drop(1);
        CHECK(says(
            world, "rank 1 gives rank 2 a use, and ends its own",
            {"2 to 0: FORK_REQUEST", "0 to 2: ACK of FORK_REQUEST", "2 to 1: CHILD_ACCEPT",
             "1 to 2: ACK of CHILD_ACCEPT", "1 to 0: USER_DELETE", "0 to 1: ACK of USER_DELETE"}
        ));
        world.fork(2, 3);
        CHECK(says(
            world, "rank 2 gives rank 3 a use",
            {"3 to 0: FORK_REQUEST", "0 to 3: ACK of FORK_REQUEST", "3 to 2: CHILD_ACCEPT",
             "2 to 3: ACK of CHILD_ACCEPT"}
        ));
        CHECK(counts(world, 0, {.owned = 1, .forks = 2}));
        world.drop(2);
        CHECK(says(
            world, "rank 2 ends its use", {"2 to 0: USER_DELETE", "0 to 2: ACK of USER_DELETE"}
        ));
        CHECK(is_there(world, id));
        world.drop(3);
        CHECK(says(
            world, "rank 3 ends its use", {"3 to 0: USER_DELETE", "0 to 3: ACK of USER_DELETE"}
        ));
        CHECK(is_freed(world, id));
        CHECK(all_is_over(world));
    });
}

TEST_CASE("a rank gives itself a use: the owner without a message, a user as any other rank") {
    on_one([] {
        RefWorld world(2);
        const RefId id = world.create(0);
        world.fork(0, 0);
        world.drop(0);
        CHECK(is_there(world, id));
        CHECK(says(world, "the owner gives itself a use", {}));
        CHECK(counts(world, 0, {}));
        world.fork(0, 1);
        world.drop(0);
        world.deliver_all();
        world.fork(1, 1);
        CHECK(says(
            world, "a user gives itself a use",
            {"1 to 0: FORK_REQUEST", "0 to 1: ACK of FORK_REQUEST", "1 to 1: CHILD_ACCEPT",
             "1 to 1: ACK of CHILD_ACCEPT"}
        ));
        world.drop(1);
        world.drop(1);
        world.deliver_all();
        CHECK(is_freed(world, id));
        CHECK(all_is_over(world));
    });
}

// Calls with a use, of which one has timed out, say, and is made again; then the call that makes the object.
TEST_CASE("what comes before the object is made waits for it on the owner, and is not sent again") {
    on_one([] {
        RefWorld world(3);
        const RefId id = world.remote(1, 0);
        world.fork(1, 0);
        world.fork(1, 0);
        world.fork(1, 2);
        for (int i = 0; i < 3; ++i) {
            world.deliver(1);
        }
        CHECK(said(
            world, "three calls come",
            {"0 to 1: CHILD_ACCEPT", "0 to 1: CHILD_ACCEPT", "2 to 0: FORK_REQUEST"}
        ));
        world.deliver(3);
        CHECK(said(world, "the FORK_REQUEST comes before the object is made", {}));
        CHECK(waits(world, 0, 0));
        CHECK(waits(world, 0, 1));
        CHECK(waits(world, 2));
        CHECK(fails("value() of what is not made", [&] { static_cast<void>(world.ref(0).value()); })
        );
        CHECK(fails("fork_for() of what is not made", [&] {
            static_cast<void>(world.ref(0).fork_for(2));
        }));
        world.deliver(0);
        const Lines acks = {"0 to 1: ACK of FORK_REQUEST", "0 to 2: ACK of FORK_REQUEST"};
        CHECK(said(world, "the object is made", acks, true));
        CHECK(is_confirmed(world, 0, 0));
        CHECK(is_confirmed(world, 0, 1));
        world.deliver_all();
        for (const int rank : {0, 0, 1, 2}) {
            world.drop(rank);
        }
        world.deliver_all();
        CHECK(is_freed(world, id));
        CHECK(all_is_over(world));
    });
}

TEST_CASE("a function begins when the owner knows its use, and no earlier") {
    on_one([] {
        RefWorld world(3);
        world.remote(1, 0);
        world.deliver_all();
        world.fork(1, 2);
        world.deliver();  // the call
        CHECK(waits(world, 2));
        world.deliver();  // the FORK_REQUEST
        CHECK(waits(world, 2));
        world.deliver();  // its ACK
        CHECK(is_confirmed(world, 2));
    });
}

TEST_CASE("a callback may hold the use that it waits for: that ends when it was called") {
    on_one([] {
        {
            RefWorld world(3);
            const RefId id = world.remote(1, 0);
            world.fork(1, 2);
            world.fork(1, 0);
            world.deliver(2);  // to the owner, which has no object yet
            world.deliver(1);
            for (const int rank : {0, 1, 2}) {
                hand_over(world, rank);
            }
            world.settle();
            CHECK(is_freed(world, id));
            CHECK(all_is_over(world));
        }
        {
            RefWorld world(2);
            const RefId id = world.create(0);
            world.fork(0, 1);
            world.deliver_all();
            hand_over(world, 1);
            hand_over(world, 0);
            world.settle();
            CHECK(is_freed(world, id));
            CHECK(all_is_over(world));
        }
        INFO("the call that makes the object is lost");
        RefWorld world(2);
        world.remote(1, 0);
        world.lose();
        hand_over(world, 1);
        world.settle();
        CHECK(all_is_over(world));
    });
}

TEST_CASE("the value is one object, on its owner; who asks elsewhere is told whose it is") {
    on_one([] {
        RefWorld world(2);
        world.create(0);
        world.create(0);
        for (const int rank : {0, 1}) {
            world.fork(rank, 1 - rank, 0);
            world.fork(rank, 1 - rank, 1);
            world.deliver_all();
        }
        const auto number = [&](std::size_t i) {
            return std::any_cast<std::shared_ptr<int>>(world.ref(0, i).value());
        };
        *number(0) = 10;
        *number(3) = 20;
        CHECK(*number(2) == 10);
        CHECK(*number(1) == 20);
        CHECK(world.ref(0, 0).id() == world.ref(1, 0).id());
        CHECK(world.ref(0, 0).id() != world.ref(0, 1).id());
        CHECK(world.ref(1, 0).owner() == 0);
        const std::string error = error_of([&] { static_cast<void>(world.ref(1).value()); });
        CHECK(names("value() on rank 1", error, {"rank 0", "rank 1"}));
    });
}

TEST_CASE("ids say which rank gave them, and none is given twice") {
    on_one([] {
        RefWorld world(3);
        std::vector<GlobalId> ids;
        for (const int rank : {2, 1}) {
            for (int i = 0; i < 3; ++i) {
                ids.push_back(world.create(rank));
                ids.push_back(world.remote(rank, 0));
            }
            for (std::size_t i = 0; i < 6; ++i) {
                const RemoteRef& ref = world.ref(rank, i);
                const ForkData data = ref.fork_for(0);
                CHECK(data.reference == ref.id());
                CHECK(data.owner == ref.owner());
                CHECK(data.parent == rank);
                ids.push_back(data.fork);
            }
        }
        for (std::size_t i = 0; i < ids.size(); ++i) {
            INFO("id number " << i << " is " << to_string(ids[i]) << "; rank 2 has given 12");
            CHECK(ids[i].creator == (i < 12 ? 2 : 1));
            CHECK(std::ranges::count(ids, ids[i]) == 1);
        }
    });
}

TEST_CASE("an object may hold references: they end when it is freed") {
    on_one([] {
        RefWorld world(3);
        const RefId held = world.create(0);
        world.fork(0, 1);
        world.drop(0);
        world.deliver_all();
        std::optional<RemoteRef> holder = world.at(1).create(world.ref(1));
        world.drop(1);
        std::optional<RemoteRef> user = world.at(2).accept(holder->fork_for(2));
        holder.reset();
        world.settle();
        CHECK(is_there(world, held));
        user.reset();
        world.settle();
        CHECK(is_freed(world, held));
        CHECK(all_is_over(world));
    });
}

TEST_CASE("what is not acknowledged is sent again five times, each wait 1.5 times the last") {
    on_one([] {
        const std::vector<long> times = {1000, 2500, 4750, 8125, 13187};
        {
            RefWorld world(2);
            world.dead = {0};
            world.remote(1, 0);
            CHECK(is_sent_at(world, 1, "FORK_REQUEST, for which a call stood at first,", times));
        }
        {
            RefWorld world(3);
            world.remote(1, 0);
            world.deliver_all();
            world.dead = {0};
            world.fork(1, 2);
            world.deliver_all();
            CHECK(is_sent_at(world, 2, "FORK_REQUEST", times));
        }
        {
            RefWorld world(2);
            world.remote(1, 0);
            world.fork(1, 0);
            world.dead = {1};
            world.deliver_all();
            CHECK(is_sent_at(world, 0, "CHILD_ACCEPT", times));
            world.pass(0, 10s);
            CHECK(counts(world, 0, {.owned = 1, .forks = 1}));
        }
        {
            RefWorld world(2, {.max_retries = 2, .first_wait = 100ms, .backoff = 3});
            world.remote(1, 0);
            world.deliver_all();
            world.dead = {0};
            world.drop(1);
            CHECK(is_sent_at(world, 1, "USER_DELETE, twice, from 100 ms and times 3,", {100, 400}));
            CHECK(counts(world, 1, {}));
        }
    });
}

TEST_CASE("a tick() that comes late sends once, and the next wait is from then on") {
    on_one([] {
        RefWorld world(2);
        world.dead = {0};
        world.remote(1, 0);
        world.said({});
        world.pass(1, 60s);
        CHECK(said(world, "the first tick() comes a minute late", {"1 to 0: FORK_REQUEST"}));
        CHECK(is_sent_at(world, 1, "FORK_REQUEST, a minute late,", {1500, 3750, 7125, 12187}));
    });
}

TEST_CASE("a use is given up one wait after its last FORK_REQUEST") {
    on_one([] {
        RefWorld world(2);
        world.dead = {0};
        world.remote(1, 0);
        for (const Ms wait : {1000ms, 1500ms, 2250ms, 3375ms, 5062ms, 7592ms}) {
            world.pass(1, wait);
            CHECK(waits(world, 1));
        }
        world.pass(1, 1ms);
        CHECK(is_given_up(world, 1));
    });
}

TEST_CASE("an ACK that is lost costs the message once more, and its ACK") {
    on_one([] {
        RefWorld world(3);
        const RefId id = world.remote(1, 0);
        world.deliver_all();
        world.said({});
        world.fork(1, 2);
        world.deliver();
        CHECK(with_a_lost_ack(world, "FORK_REQUEST", 2, 0));
        world.deliver();
        CHECK(with_a_lost_ack(world, "CHILD_ACCEPT", 2, 1));
        world.deliver_all();
        world.drop(1);
        CHECK(with_a_lost_ack(world, "USER_DELETE", 1, 0));
        world.deliver_all();
        world.drop(2);
        CHECK(with_a_lost_ack(world, "USER_DELETE", 2, 0));
        world.deliver_all();
        CHECK(is_freed(world, id));
        CHECK(all_is_over(world));
    });
}

TEST_CASE("an object that is never made: its uses are given up, and cannot be given on") {
    on_one([] {
        RefWorld world(3);
        world.remote(1, 0);
        world.lose();  // the call
        world.fork(1, 2);
        world.settle();
        for (const int rank : {1, 2}) {
            CHECK(is_given_up(world, rank));
            world.drop(rank);
        }
        world.settle();
        CHECK(all_is_over(world));
    });
}

TEST_CASE("an object that is made too late is of no use, and is not kept for it") {
    on_one([] {
        for (const bool ends_first : {false, true}) {
            RefWorld world(2);
            const RefId id = world.remote(1, 0);
            const Letter call = world.letters.front();
            world.lose();
            world.settle();
            CHECK(is_given_up(world, 1));
            if (ends_first) {
                world.drop(1);
                world.settle();
            }
            world.letters.push_back(call);
            world.settle();
            if (!ends_first) {
                CHECK(is_given_up(world, 1));
                world.drop(1);
                world.settle();
            }
            INFO((ends_first ? "the use ended before that" : "the use ends after that"));
            CHECK(is_freed(world, id));
            CHECK(all_is_over(world));
        }
    });
}

TEST_CASE("shutdown names what is left: the ids, and the ranks that use it or have died") {
    on_one([] {
        RefWorld world(4);
        const RefId a = world.create(0);
        const RefId b = world.create(0);
        const RefId c = world.create(0);  // nobody else uses it
        world.fork(0, 1, 0);
        world.fork(0, 2, 0);
        world.fork(0, 3, 1);
        world.deliver_all();
        world.dead = {3};
        world.fork(1, 3);
        world.drop(2);
        world.drop(1);
        world.settle();
        const std::string owner = error_of([&] { world.at(0).shutdown(); });
        CHECK(names("shutdown() of rank 0", owner, {to_string(a), "rank 1", to_string(b), "rank 3"})
        );
        INFO("rank 2 has ended its use, and reference " << to_string(c) << " has no other");
        INFO(owner);
        CHECK(owner.find("rank 2") == std::string::npos);
        CHECK(owner.find(to_string(c)) == std::string::npos);
        const std::string user = error_of([&] { world.at(1).shutdown(); });
        CHECK(names("shutdown() of rank 1", user, {to_string(a), "rank 0", "rank 3"}));
        CHECK(error_of([&] { world.at(2).shutdown(); }).empty());
    });
}

TEST_CASE("a use that is still held is a leak, on its rank and on the owner") {
    on_one([] {
        for (const bool is_held : {true, false}) {
            RefWorld world(2);
            const RefId id = world.remote(1, 0);
            world.deliver_all();
            if (!is_held) {
                world.drop(1);
                world.deliver_all();
            }
            for (const int rank : {0, 1}) {
                const std::string error = error_of([&] { world.at(rank).shutdown(); });
                const std::string what = "shutdown() of rank " + std::to_string(rank);
                if (is_held) {
                    CHECK(names(what, error, {to_string(id), "rank 0", "rank 1"}));
                } else {
                    INFO(what << ", where nothing is left");
                    CHECK(error.empty());
                }
            }
        }
    });
}

TEST_CASE("after shutdown nothing is given or used, and others are still answered") {
    on_one([] {
        RefWorld world(2);
        world.create(0);
        world.create(1);
        world.fork(0, 1);
        world.deliver_all();
        const ForkData data = world.ref(0).fork_for(1);
        const ForkData other = world.at(0).remote(1).data;
        world.fork(0, 1);
        world.deliver_all();
        world.drop(1, 2);
        world.lose();
        world.said({});
        CHECK(fails("shutdown(), with a use left,", [&] { world.at(1).shutdown(); }));
        const auto ignored = [](const std::exception_ptr&) {};
        const std::vector<std::pair<std::string, std::function<void()>>> calls = {
            {"create()", [&] { world.at(1).create(1); }},
            {"remote()", [&] { world.at(1).remote(0); }},
            {"make()", [&] { world.at(1).make(other, 1); }},
            {"accept()", [&] { world.at(1).accept(data); }},
            {"fork_for()", [&] { static_cast<void>(world.ref(1).fork_for(0)); }},
            {"when_confirmed()", [&] { world.ref(1).when_confirmed(ignored); }},
            {"value()", [&] { static_cast<void>(world.ref(1).value()); }}};
        for (const auto& [name, call] : calls) {
            CHECK(fails("after the shutdown " + name, call));
        }
        world.drop(1);
        world.drop(1);
        CHECK(says(world, "uses end after the shutdown", {}));
        world.at(1).receive(0, {ControlKind::user_delete, false, data.reference, data.fork});
        CHECK(said(world, "a message comes after the shutdown", {"1 to 0: ACK of USER_DELETE"}));
        world.pass(1, 1s);
        CHECK(said(world, "a message was lost before the shutdown", {"1 to 0: USER_DELETE"}));
    });
}

TEST_CASE("references may outlive the RefContext") {
    on_one([] {
        std::vector<RemoteRef> left;
        {
            RefWorld world(2);
            world.create(0);
            world.fork(0, 1);
            world.remote(1, 0);
            world.deliver_all();
            left = {world.ref(0), world.ref(1, 0), world.ref(1, 1)};
        }
        for (const RemoteRef& ref : left) {
            CHECK(fails("without a RefContext fork_for()", [&] {
                static_cast<void>(ref.fork_for(0));
            }));
        }
    });
}

TEST_CASE("remote() refuses this rank as the owner") {
    on_one([] {
        RefWorld world(2);
        CHECK_THROWS_AS(world.at(1).remote(1), std::invalid_argument);
    });
}

// The numbers of states are those of the reference.

TEST_CASE("in all orders: an object made by another rank") {
    // 12, 18, 55, 135
    in_all_orders({}, {remote(1, 0), drops(1)}, {kNone, kLost, kRepeated, kEarly});
}

TEST_CASE("in all orders: the owner gives a user a use") {
    // 14, 19, 51, 68
    const Plan plan = {creates(0), forks(0, 1), drops(0), drops(1)};
    in_all_orders({}, plan, {kNone, kLost, kRepeated, kEarly});
}

TEST_CASE("in all orders: a user gives the owner a use") {
    // 610, 1,148, 12,019, 48,954
    const Plan plan = {remote(1, 0), forks(1, 0), drops(1), drops(0)};
    in_all_orders({}, plan, {kNone, kLost, kRepeated, kEarly});
}

TEST_CASE("in all orders: a user gives a user a use") {
    // 1,486, 3,670, 54,027
    const Plan plan = {remote(1, 0), forks(1, 2), drops(1), drops(2)};
    in_all_orders({}, plan, {kNone, kLost, kRepeated});
}

TEST_CASE("in all orders: a user gives a user a use, and sends again what was not lost") {
    // 29,419
    in_all_orders({remote(1, 0)}, {forks(1, 2), drops(1), drops(2)}, {kEarly});
}

TEST_CASE("in all orders: a user gives itself a use") {
    // 626, 1,334, 31,964
    in_all_orders({remote(1, 0)}, {forks(1, 1), drops(1), drops(1)}, {kNone, kLost, kRepeated});
}

TEST_CASE("in all orders: from who had it made to another user, and from there to the owner") {
    // 31,145
    const Plan plan = {forks(1, 2), drops(1), forks(2, 0), drops(2), drops(0)};
    in_all_orders({remote(1, 0)}, plan, {kNone});
}

TEST_CASE("in all orders: from the owner to a user, to another one, and back") {
    // 66,486; the ACKs that nobody waits for come first, or it would be some millions
    const Plan before = {creates(0), forks(0, 1), drops(0)};
    const Plan plan = {forks(1, 2), drops(1), forks(2, 1), drops(2), drops(1)};
    in_all_orders(before, plan, {{.final_acks_at_once = true}});
}

TEST_CASE("four ranks, 500 seeds of delay, loss and repetition: nothing is freed early or kept") {
    on_ranks_each(
        {1}, [](int) { return 10; },
        [](const Communicator&, std::size_t part) {
            for (std::uint64_t seed = 50 * part; seed < 50 * (part + 1); ++seed) {
                INFO("seed " << seed);
                REQUIRE(ReferenceLife(seed).play());
            }
        }
    );
}
