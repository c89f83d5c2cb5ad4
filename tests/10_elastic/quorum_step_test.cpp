// quorum_step: replicas go on without those that die. First quorum(), by what is known at one
// moment; then replicas that are threads of a virtual time, and die at every message; at the end
// they are processes, and a real one dies.
#include "exercises/10_elastic/quorum_step.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

// ---- what is known of replicas at one moment, and the quorum that must come of it

constexpr Ms kNow = 1h;
constexpr QuorumSettings kTwo = {.min_replicas = 2, .join_timeout = 1000ms, .dead_after = 300ms};
constexpr QuorumSettings kOne = {.min_replicas = 1, .join_timeout = 1000ms, .dead_after = 300ms};

/// Lives, and asks since so long ago.
Replica asks(const std::string& name, std::int64_t step = 0, Ms ago = 0ms) {
    return {.name = name, .heard = kNow, .asked = kNow - ago, .step = step};
}

/// Lives, and does not ask.
Replica trains(const std::string& name, std::int64_t step = 0) {
    return {.name = name, .heard = kNow, .step = step};
}

/// Was heard so long ago.
Replica silent(Replica replica, Ms ago = 300ms) {
    replica.heard = kNow - ago;
    return replica;
}

Replica failed(Replica replica) {
    replica.failed = true;
    return replica;
}

/// A quorum whose members have names of one letter.
Quorum quorum_of(
    std::int64_t number, const std::string& members, std::int64_t step, std::vector<int> sources
) {
    Quorum made{.number = number, .step = step, .sources = std::move(sources)};
    for (const char name : members) {
        made.members.emplace_back(1, name);
    }
    return made;
}

std::string words(const std::optional<Quorum>& quorum) {
    std::string all = "no quorum";
    if (quorum) {
        all = text("quorum ", quorum->number, " of");
        for (const std::string& member : quorum->members) {
            all += " " + member;
        }
        all += text(" at step ", quorum->step, ", sources");
        for (const int source : quorum->sources) {
            all += text(" ", source);
        }
    }
    return all;
}

/// What is known, and what must come of it.
struct Rule {
    std::string what;
    std::vector<Replica> replicas;
    std::optional<Quorum> expected;
    Quorum previous = {};
    QuorumSettings settings = kOne;
};

/// Asks for each, with the replicas in several orders.
void rules(const std::vector<Rule>& all) {
    on_one([&] {
        for (Rule rule : all) {
            for (std::size_t turn = 0; turn < rule.replicas.size(); ++turn) {
                std::rotate(rule.replicas.begin(), rule.replicas.begin() + 1, rule.replicas.end());
                const auto got = quorum(rule.replicas, rule.previous, rule.settings, kNow);
                INFO(rule.what << ": expected " << words(rule.expected) << ", got " << words(got));
                REQUIRE((got == rule.expected));
            }
        }
    });
}

// ---- replicas that train: whole numbers, so that any number of replicas comes to the same weights

using Row = std::vector<float>;

/// A replica: what it does, then what has become of it.
struct Life {
    Ms comes{0};           // it is heard from then on
    Ms begins{0};          // so long after it was told a quorum
    Ms computes{10};       // a gradient
    long dies_after = -1;  // so many messages, sent or received; -1: it does not
    int errs_in = -1;      // this attempt, from 0 on, goes wrong on it
    Ms stands_still{0};    // once, with two steps behind it

    std::string name = {};
    bool has_ended = false;
    Ms ended{-1};
    long messages = 0;  // all that it has sent and received
    Row state = {};     // the weights; then of each step the number of the quorum that took it
    std::int64_t step = 0;
    std::vector<bool> commits = {};                 // what it was told in each attempt
    std::map<std::int64_t, std::int64_t> own = {};  // steps that it has taken, and in which quorum
};

/// Each step has 12 examples, and each participant an equal share of them.
struct Training {
    std::vector<std::size_t> layers = {5, 2};
    std::int64_t steps = 3;
    std::size_t extra = 0;  // numbers of a state beside these

    [[nodiscard]] std::size_t weights() const {
        return std::accumulate(layers.begin(), layers.end(), std::size_t{0});
    }

    [[nodiscard]] std::size_t place_of(std::int64_t step) const {
        return weights() + static_cast<std::size_t>(step);
    }

    /// Of each replica another one.
    [[nodiscard]] Row first_state(std::size_t who) const {
        Row state(place_of(steps) + extra);
        for (std::size_t i = 0; i < weights(); ++i) {
            state[i] = static_cast<float>(1000 * (who + 1) + i);
        }
        return state;
    }

    /// What weight i gains of examples [begin, end) of a step.
    static float gain(
        std::int64_t step, std::size_t i, std::size_t begin = 0, std::size_t end = 12
    ) {
        float sum = 0;
        for (std::size_t example = begin; example < end; ++example) {
            const auto index = 12 * static_cast<std::uint64_t>(step) + example;
            sum += static_cast<float>(1 + seeded_bits(9, index) % 7);
        }
        return sum * static_cast<float>(1 + i % 3);
    }

    /// 12 times the mean over a participant's share. One that heals has nonsense.
    [[nodiscard]] Row gradient(const Quorum& quorum, int rank) const {
        const std::vector<int> ranks = quorum.participants();
        const std::size_t k = ranks.size();
        const auto place = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
        Row row(weights(), 1e6F);
        for (std::size_t i = 0; i < weights() && place < k; ++i) {
            const float mine = gain(quorum.step, i, 12 * place / k, 12 * (place + 1) / k);
            row[i] = static_cast<float>(k) * mine;
        }
        return row;
    }

    /// Compares the mean of all gradients of a step.
    [[nodiscard]] Comparison is_mean(const Row& got, const Quorum& quorum) const {
        for (std::size_t i = 0; i < weights(); ++i) {
            const float expected = gain(quorum.step, i);
            if (got[i] != expected) {
                return {
                    false, text(
                               "gradient ", i, ": expected ", expected, ", got ", got[i],
                               guess(got[i] / expected, quorum)
                           )};
            }
        }
        return {};
    }

    /// Compares what a replica has after all steps with a run that nothing has disturbed.
    [[nodiscard]] Comparison is_complete(const Life& life, std::size_t replicas) const {
        const float first =
            std::clamp(life.state.front() / 1000, 1.0F, static_cast<float>(replicas));
        Row expected = first_state(static_cast<std::size_t>(first) - 1);
        for (std::int64_t step = 0; step < steps; ++step) {
            expected[place_of(step)] = life.state[place_of(step)];
            for (std::size_t i = 0; i < weights(); ++i) {
                expected[i] += gain(step, i);
            }
        }
        const Comparison result = same(life.state, expected);
        return {result.equal, "not the weights of a run never disturbed: " + result.text};
    }

    /// Whether the steps that it took are those that its weights have behind them.
    [[nodiscard]] Comparison keeps_its_steps(const Life& life) const {
        for (const auto& [step, number] : life.own) {
            const float kept = life.state[place_of(step)];
            if (kept != static_cast<float>(number)) {
                return {
                    false, text(
                               "it took step ", step + 1, " in quorum ", number,
                               ". This is lost: its weights are those of quorum ", kept
                           )};
            }
        }
        return {};
    }

  private:
    static std::string guess(float ratio, const Quorum& quorum) {
        const std::size_t k = quorum.participants().size();
        const std::size_t p = quorum.members.size();
        const auto is = [&](std::size_t above, std::size_t below) {
            const float other = static_cast<float>(above) / static_cast<float>(below);
            return above != below && std::abs(ratio - other) < 1e-4F;
        };
        return text(
            "; ", k, " of ", p, " members take part",
            is(k, p)       ? ": as if the sum were divided by all members"
            : is(k, 1)     ? ": as if the sum were not divided"
            : ratio > 1000 ? ": as if the gradient of one that heals counted"
                           : ""
        );
    }
};

/// The transport of a quorum of some ranks of a world: its messages reach no other quorum. A member that destroys it has left, and
/// the others wait for it no more. It dies after so many messages as its Life says.
class QuorumTransport : public Transport {
  public:
    using Left = std::set<std::pair<std::int64_t, int>>;  // numbers, and ranks of the world

    QuorumTransport(Place& me, Life& life, const Quorum& quorum, Left& left)
        : me_(me), life_(life), number_(quorum.number), left_(left) {
        for (const std::string& member : quorum.members) {
            members_.push_back(member.front() - 'a');
        }
    }

    ~QuorumTransport() override {
        left_.emplace(number_, me_.rank);
        for (const int other : members_) {
            std::erase_if(me_.world.edge(other, me_.rank).posted, [&](const auto& receive) {
                return receive.group / kGroups == number_;
            });
        }
    }
    QuorumTransport(const QuorumTransport&) = delete;
    QuorumTransport& operator=(const QuorumTransport&) = delete;

    [[nodiscard]] int rank() const override {
        return static_cast<int>(std::ranges::find(members_, me_.rank) - members_.begin());
    }
    [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }

    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override {
        live();
        const Request request = me_.transport.isend(data, world_rank(dst), group_of(group), tag);
        count();
        return request;
    }

    Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) override {
        const int from = world_rank(src);
        const Request request = me_.transport.irecv(data, from, group_of(group), tag);
        receives_[request] = from;
        return request;
    }

    bool test(const Request& request) override {
        live();
        const auto receive = receives_.find(request);
        if (me_.transport.test(request)) {
            if (receive != receives_.end()) {
                receives_.erase(receive);
                count();
            }
            return true;
        }
        if (receive != receives_.end() && left_.contains({number_, receive->second}) &&
            me_.world.edge(receive->second, me_.rank).mail.empty()) {
            throw Error(text("rank ", receive->second, " has left"));
        }
        return false;
    }

    Arrival wait(const Request& request) override {
        const Ms since = me_.now();
        me_.until([&] {
            must(me_.now() <= since + 5s, "it still waits for a message after 5 s");
            return test(request);
        });
        return request->arrival;
    }

    Arrival probe(int src, std::uint32_t group, int tag) override {
        return me_.transport.probe(world_rank(src), group_of(group), tag);
    }

  private:
    static constexpr std::uint32_t kGroups = 100'000;  // of one quorum

    [[nodiscard]] int world_rank(int member) const {
        expects(0 <= member && member < size(), "QuorumTransport: there is no such rank");
        return members_[static_cast<std::size_t>(member)];
    }

    [[nodiscard]] std::uint32_t group_of(std::uint32_t group) const {
        return static_cast<std::uint32_t>(number_) * kGroups + group % kGroups;
    }

    void live() {
        if (life_.messages == life_.dies_after) {
            me_.world.kill(me_.rank);
            me_.world.live(me_.rank);
        }
    }

    void count() {
        ++life_.messages;
        live();
    }

    Place& me_;
    Life& life_;
    std::int64_t number_;
    Left& left_;
    std::vector<int> members_ = {};  // ranks of the world
    std::map<Request, int> receives_ = {};
};

/// Replicas that ask for quorums, take steps, die, stand still or come late, as the test says. Their names are a, b, ...
class Scene {
  public:
    explicit Scene(World& world) : lives(static_cast<std::size_t>(world.size())), world_(world) {
        world.buffered = true;
        world.patience = 1h;
    }

    /// Plays until all that live have taken all steps. Fails the test unless all went as it must.
    void play(TestLine at = TestLine::here()) {
        places_.resize(lives.size());
        for (std::size_t who = 0; who < lives.size(); ++who) {
            lives[who].name = std::string(1, static_cast<char>('a' + who));
            lives[who].state = training.first_state(who);
        }
        std::size_t left = lives.size();
        const auto ends = [&] {
            if (--left == 0) {
                judge_all();
            }
        };
        world_.play(
            [&](Place& me) {
                Inquiry& mine = places_[static_cast<std::size_t>(me.rank)];
                try {
                    me.sleep_until(life(me).comes);
                    live(me, mine);
                } catch (const Killed&) {
                    mine.replica.heard = me.now();
                    ends();
                    throw;
                }
                ends();
            },
            at
        );
    }

    [[nodiscard]] bool is_dead(const Life& one) const {
        return world_.dead(one.name.front() - 'a');
    }

    /// What all except `victim` were told in an attempt: 0 or 1 of each, by name.
    [[nodiscard]] std::string told(std::size_t attempt, std::size_t victim) const {
        std::string all;
        for (std::size_t who = 0; who < lives.size(); ++who) {
            all += who == victim ? "" : lives[who].commits.at(attempt) ? "1" : "0";
        }
        return all;
    }

    std::vector<Life> lives;
    Training training = {};
    bool may_lose = false;             // a step of one that stood still
    std::vector<Quorum> quorums = {};  // all that were formed

  private:
    // Where quorums are formed: what is known of a replica, and what it was told.
    struct Inquiry {
        Replica replica = {};
        std::optional<Quorum> told = {};
    };
    using Rows = std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::string, Row>>;

    Life& life(const Place& me) { return lives[static_cast<std::size_t>(me.rank)]; }

    static void demand(const Life& life, const Comparison& result) {
        must(result.equal, "replica ", life.name, ": ", result.text);
    }

    // One that lives is heard all the time.
    std::vector<Replica> replicas() {
        std::vector<Replica> all;
        for (std::size_t who = 0; who < lives.size(); ++who) {
            if (lives[who].comes <= world_.time.now() && !lives[who].has_ended) {
                Replica& replica = places_[who].replica;
                replica.name = lives[who].name;
                replica.heard = is_dead(lives[who]) ? replica.heard : world_.time.now();
                all.push_back(replica);
            }
        }
        return all;
    }

    void tell(const Quorum& quorum) {
        for (const std::string& member : quorum.members) {
            Inquiry& place = places_.at(static_cast<std::size_t>(member.front() - 'a'));
            must(
                place.replica.asked.has_value(), "replica ", member,
                " is in a quorum, and has not asked for it"
            );
            place.told = quorum;
            place.replica.asked.reset();
        }
        const auto before = std::ranges::find(quorums, quorum.number, &Quorum::number);
        must(
            before == quorums.end() || before->members == quorum.members,
            "two quorums with other members have number ", quorum.number
        );
        quorums.push_back(quorum);
    }

    Quorum ask(Place& me, Inquiry& mine, bool failed) {
        mine.replica.asked = me.now();
        mine.replica.step = life(me).step;
        mine.replica.failed = failed;
        while (!mine.told) {
            const Quorum previous = quorums.empty() ? Quorum() : quorums.back();
            if (const auto next = quorum(replicas(), previous, kOne, me.now())) {
                tell(*next);
            }
            me.sleep(mine.told ? 0ms : 10ms);
        }
        return *std::exchange(mine.told, std::nullopt);
    }

    void live(Place& me, Inquiry& mine) {
        constexpr std::size_t kMost = 20;
        Life& one = life(me);
        std::int64_t number = 0;
        std::unique_ptr<QuorumTransport> transport;
        QuorumStep step(one.state);
        bool failed = false;
        while (one.step < training.steps) {
            if (one.step == 2) {
                me.sleep(std::exchange(one.stands_still, 0ms));
            }
            const Quorum quorum = ask(me, mine, failed);
            if (std::exchange(number, quorum.number) != quorum.number) {
                transport.reset();
                transport = std::make_unique<QuorumTransport>(me, one, quorum, left_);
            }
            attempt(me, *transport, quorum, step);
            failed = !one.commits.back();
            must(one.commits.size() < kMost, "replica ", one.name, " tries again and again");
        }
        one.has_ended = true;
        one.ended = me.now();
    }

    void attempt(Place& me, Transport& transport, const Quorum& quorum, QuorumStep& step) {
        Life& one = life(me);
        const bool heals = quorum.heals(transport.rank());
        const Row before = one.state;
        me.sleep(one.begins);
        if (!heals) {
            same_as_others(begun_, quorum, one, "begins");
        }
        step.begin(quorum, transport);
        Row gradient = training.gradient(quorum, transport.rank());
        me.sleep(one.computes);
        std::span<float> rest = gradient;
        for (const std::size_t layer : training.layers) {
            step.all_reduce(rest.first(layer));
            rest = rest.subspan(layer);
        }
        if (std::ssize(one.commits) == one.errs_in) {
            step.report_error();
        }
        one.commits.push_back(step.should_commit());
        me.sleep(0ms);
        one.step = step.step();
        if (heals) {
            const auto found = begun_.find({quorum.number, quorum.step});
            must(
                one.state == before || (found != begun_.end() && one.state == found->second.second),
                "replica ", one.name,
                " has half of the weights that it was to copy, and half of its own"
            );
        }
        if (one.commits.back()) {
            take(one, quorum, gradient);
        }
    }

    void take(Life& one, const Quorum& quorum, const Row& gradient) {
        must(
            one.step == quorum.step + 1, "replica ", one.name, " has taken step ", quorum.step + 1,
            ", and step() is ", one.step
        );
        const Comparison mean = training.is_mean(gradient, quorum);
        demand(one, {mean.equal, text("step ", quorum.step + 1, ", ", mean.text)});
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            one.state[i] += gradient[i];
        }
        one.state[training.place_of(quorum.step)] = static_cast<float>(quorum.number);
        one.own[quorum.step] = quorum.number;
        same_as_others(committed_, quorum, one, "has taken");
    }

    // Compares a state with that of the first replica that came there in this quorum.
    static void same_as_others(
        Rows& rows, const Quorum& quorum, const Life& one, const char* what
    ) {
        const auto& [other, row] =
            rows.try_emplace({quorum.number, quorum.step}, one.name, one.state).first->second;
        const Comparison result = same(one.state, row);
        demand(
            one, {result.equal, text(
                                    what, " step ", quorum.step + 1,
                                    " with other weights than replica ", other, ": ", result.text
                                )}
        );
    }

    void judge_all() const {
        for (const Life& one : lives) {
            if (is_dead(one)) {
                continue;
            }
            demand(one, training.is_complete(one, lives.size()));
            if (!may_lose) {
                demand(one, training.keeps_its_steps(one));
            }
            for (const Life& other : lives) {
                const Comparison equal = same(one.state, other.state);
                must(
                    is_dead(other) || equal.equal, "replica ", one.name,
                    ": at the end other weights than ", other.name, ": ", equal.text
                );
            }
        }
    }

    World& world_;
    std::vector<Inquiry> places_ = {};
    QuorumTransport::Left left_ = {};
    Rows begun_ = {};
    Rows committed_ = {};
};

/// How many messages replica `who` of p sends and receives in so many steps, if none dies.
long messages_in(std::int64_t steps, int p, std::size_t who) {
    World world(p);
    Scene scene(world);
    scene.training.steps = steps;
    scene.play();
    return scene.lives[who].messages;
}

/// A run of 4 steps, in which one replica dies after so many messages.
struct Death {
    Death(int p, std::size_t its_victim, long messages, std::uint64_t seed = 1)
        : victim(its_victim), world(p, seed), scene(world) {
        scene.training.steps = 4;
        scene.lives[victim].dies_after = messages;
    }

    [[nodiscard]] std::string told() const { return scene.told(1, victim); }

    std::size_t victim;
    World world;
    Scene scene;
};

/// Each rank sends its row to rank 0, which compares.
void has_rank_0s_bits(const Row& row, Transport& transport) {
    constexpr std::uint32_t kGroup = 99;
    if (transport.rank() > 0) {
        transport.send(std::as_bytes(std::span(row)), 0, kGroup, 0);
        return;
    }
    for (int rank = 1; rank < transport.size(); ++rank) {
        Row other(row.size());
        transport.recv(std::as_writable_bytes(std::span(other)), rank, kGroup, 0);
        INFO("the mean on rank " << rank << ", beside rank 0's");
        CHECK(same(other, row));
    }
}

}  // namespace

TEST_CASE("quorum: min_replicas have to ask, and the first of them waits join_timeout for others") {
    const Replica late = asks("b", 0, 10ms);
    const Quorum pair = quorum_of(1, "ab", 0, {0, 0});
    rules({
        {"nobody asks", {trains("a"), trains("b")}, {}},
        {"one of two asks", {asks("a", 0, 1h), silent(trains("b"))}, {}, {}, kTwo},
        {"all that live ask", {asks("a"), asks("b")}, pair, {}, kTwo},
        {"c lives; a asks for 999 ms", {asks("a", 0, 999ms), late, trains("c")}, {}},
        {"c lives; a asks for 1 s", {asks("a", 0, 1000ms), late, trains("c")}, pair},
        {"c lives; b asks for 1 s", {asks("a"), asks("b", 0, 1000ms), trains("c")}, pair},
        {"c has died", {asks("a"), asks("b"), silent(trains("c"))}, pair},
    });
}

TEST_CASE("quorum: half of those that live are no quorum, however long they ask") {
    on_one([] {
        for (unsigned n = 1; n <= 6; ++n) {
            for (unsigned set = 1; set < 1U << n; ++set) {
                std::vector<Replica> replicas;
                std::size_t asking = 0;
                for (unsigned i = 0; i < n; ++i) {
                    const std::string name(1, static_cast<char>('a' + i));
                    const bool is_asking = (set >> i & 1U) != 0;
                    asking += is_asking ? 1 : 0;
                    replicas.push_back(is_asking ? asks(name, 3, 1h) : trains(name));
                    replicas.push_back(silent(asks("x" + name, 3, 1h)));  // the dead count nowhere
                }
                INFO(asking << " of " << n << " that live ask, and as many are dead");
                const auto got = quorum(replicas, {}, kOne, kNow);
                REQUIRE(got.has_value() == (2 * asking > n));
                REQUIRE((!got || got->members.size() == asking));
            }
        }
    });
}

TEST_CASE("quorum: who was heard dead_after ago is dead, whatever it asked") {
    const Quorum pair = quorum_of(4, "ab", 7, {0, 1});
    rules({
        {"c asked, and was heard 300 ms ago",
         {asks("a", 7), asks("b", 7), silent(asks("c", 9, 1h))},
         quorum_of(1, "ab", 7, {0, 1})},
        {"c asked, and was heard 299 ms ago",
         {asks("a", 7), asks("b", 7), silent(asks("c", 9, 1h), 299ms)},
         quorum_of(1, "abc", 9, {2, 2, 2})},
        {"b of the previous quorum asked and has died, c and d live",
         {asks("a", 8), silent(asks("b", 8)), trains("c"), trains("d")},
         {},
         pair},
    });
}

TEST_CASE("quorum: it is fast if all of the previous quorum ask again, and takes in who asks too") {
    const Quorum pair = quorum_of(4, "ab", 7, {0, 1});
    const Quorum three = quorum_of(4, "abd", 7, {0, 1, 2});
    const Replica a = asks("a", 8);
    const Replica b = asks("b", 8);
    rules({
        {"others live", {a, b, trains("c"), trains("d")}, quorum_of(4, "ab", 8, {0, 1}), pair},
        {"c asks, d lives",
         {a, b, asks("c"), trains("d")},
         quorum_of(5, "abc", 8, {0, 1, 0}),
         pair},
        {"d was there and lives", {a, b, trains("d")}, {}, three},
        {"d was there and lives, and c asks", {a, b, asks("c"), trains("d")}, {}, three},
        {"d was there and lives, and a asks for 1 s",
         {asks("a", 8, 1000ms), b, trains("d")},
         quorum_of(5, "ab", 8, {0, 1}),
         three},
        {"there is no previous one", {a, b, trains("c")}, {}},
    });
}

TEST_CASE("quorum: the number goes up unless the same members ask, and none of them failed") {
    const Quorum pair = quorum_of(4, "ab", 7, {0, 1});
    const Replica a = asks("a", 8);
    const Replica b = asks("b", 8);
    rules({
        {"the first", {a, b}, quorum_of(1, "ab", 8, {0, 1})},
        {"the same", {a, b}, quorum_of(4, "ab", 8, {0, 1}), pair},
        {"the same, and b failed", {a, failed(b)}, quorum_of(5, "ab", 8, {0, 1}), pair},
        {"one more", {a, b, asks("c", 8)}, quorum_of(5, "abc", 8, {0, 1, 0}), pair},
        {"one less", {a, silent(b)}, quorum_of(5, "a", 8, {0}), pair},
        {"another in the place of b", {a, asks("c", 8)}, quorum_of(5, "ac", 8, {0, 0}), pair},
    });
}

TEST_CASE("quorum: who is below the highest step heals, each from another one that is there") {
    rules({
        {"all are there", {asks("a", 5), asks("b", 5)}, quorum_of(1, "ab", 5, {0, 1})},
        {"b is ahead",
         {asks("a", 4), asks("b", 5), asks("c", 4)},
         quorum_of(1, "abc", 5, {1, 1, 1})},
        {"a, c and e are at step 5",
         {asks("a", 5), asks("b", 3), asks("c", 5), asks("d", 4), asks("e", 5), asks("f", 1),
          asks("g")},
         quorum_of(1, "abcdefg", 5, {0, 0, 2, 2, 4, 4, 0})},
        {"the dead are at no step",
         {asks("a", 5), asks("b", 4), silent(asks("c", 6))},
         quorum_of(1, "ab", 5, {0, 0})},
        {"who does not ask is at no step",
         {asks("a", 5, 1h), asks("b", 4, 1h), trains("c", 6)},
         quorum_of(1, "ab", 5, {0, 0})},
    });
}

TEST_CASE("quorum: at step 0 all copy from one") {
    rules({
        {"alone", {asks("a")}, quorum_of(1, "a", 0, {0})},
        {"three", {asks("a"), asks("b"), asks("c")}, quorum_of(1, "abc", 0, {0, 0, 0})},
        {"b and c tried before",
         {asks("a"), failed(asks("b")), failed(asks("c"))},
         quorum_of(2, "abc", 0, {1, 1, 1}),
         quorum_of(1, "bc", 0, {0, 0})},
    });
}

TEST_CASE(
    "quorum: who was away heals from one at the same step that was not, but is copied if it is "
    "ahead"
) {
    const Quorum pair = quorum_of(4, "cd", 5, {0, 1});
    rules({
        {"b was away, and is at the same step",
         {asks("b", 6), asks("c", 6), asks("d", 6)},
         quorum_of(5, "bcd", 6, {1, 1, 2}),
         pair},
        {"b was away, and is ahead",
         {asks("b", 6), asks("c", 5), asks("d", 5)},
         quorum_of(5, "bcd", 6, {0, 0, 0}),
         pair},
        {"all were away", {asks("a", 6), asks("b", 6)}, quorum_of(5, "ab", 6, {0, 1}), pair},
    });
}

TEST_CASE("replicas that nothing disturbs take each step at once, in one quorum") {
    worlds({1, 2, 3, 4}, [](World& world) {
        Scene scene(world);
        scene.play();
        REQUIRE(scene.quorums.back().number == 1);
        for (const Life& life : scene.lives) {
            REQUIRE(life.commits == std::vector<bool>(3, true));
        }
    });
}

TEST_CASE(
    "quorum_step costs 2(p - 1) messages an all_reduce, of n / p floats; a vote; and the copies"
) {
    worlds({1, 2, 3, 4}, [](World& world) {
        const int p = world.size();
        Scene scene(world);
        scene.training.layers = {60, 12};
        scene.play();
        for (int rank = 0; rank < p; ++rank) {
            INFO("3 steps, of 60 and 12 floats; replica number " << rank);
            long sent = 0;
            long sent_bytes = 0;
            for (int dst = 0; dst < p; ++dst) {
                sent += world.edge(rank, dst).messages;
                sent_bytes += world.edge(rank, dst).bytes;
            }
            const long others = p - 1;
            const long votes = p > 1 ? 3 * (rank == 0 ? others : 1L) : 0L;
            const long copies = rank == 0 ? others : 0;
            CHECK(sent == 2L * 3 * 2 * others + votes + copies);
            CHECK(sent_bytes <= 4 * (2L * 3 * others * 72 / p + copies * 75) + 16 * votes);
        }
    });
}

TEST_CASE("one no, and nobody steps; the step is tried again, and counts once") {
    worlds({3}, [](World& world) {
        const auto who = static_cast<std::size_t>(world.seed);
        INFO("number " << who << " of 3 (0 is a) reports an error in the second attempt");
        Scene scene(world);
        scene.lives[who].errs_in = 1;
        scene.play();
        for (const Life& life : scene.lives) {
            REQUIRE(life.commits == std::vector<bool>{true, false, true, true});
        }
    });
}

TEST_CASE("who comes late heals in a step of the others, adds nothing to it, and is their equal") {
    worlds({4}, [](World& world) {
        Scene scene(world);  // b and d train from the beginning; c comes, then a
        scene.training.steps = 6;
        scene.lives[0].comes = 65ms;
        scene.lives[2].comes = 30ms;
        scene.play();
        CHECK(scene.quorums.back().members.size() == 4);
        CHECK(scene.quorums.back().participants().size() == 4);
        for (const Life& life : scene.lives) {
            INFO("replica " << life.name << ": no step is held up, none is tried again");
            CHECK(std::ranges::count(life.commits, false) == 0);
        }
        CHECK(scene.lives[0].commits.size() < scene.lives[2].commits.size());
        CHECK(scene.lives[2].commits.size() < scene.lives[1].commits.size());
    });
}

TEST_CASE("while one copies, the others compute") {
    worlds({3}, [](World& world) {
        Scene scene(world);
        scene.training.extra = 2000;  // 8 bytes a ms: a second for a copy
        world.bytes_per_ms = 8;
        for (Life& life : scene.lives) {
            life.computes = 800ms;
        }
        scene.lives[1].comes = 1500ms;
        scene.play();
        INFO(
            "a copy takes 1000 ms, a gradient 800; c copies in step 1, b in step 3. All steps take "
            << text(scene.lives[0].ended) << ", and not 2800"
        );
        CHECK(scene.lives[0].ended < 3200ms);
    });
}

TEST_CASE("a source that dies while one copies from it leaves it with its own weights and step") {
    for (const int source : {0, 2}) {
        INFO("the source is number " << source << " of 3 (0 is a): half of the copy has arrived");
        worlds({3}, [&](World& world) {
            Scene scene(world);
            Life& life = scene.lives[static_cast<std::size_t>(source)];
            life.begins = 20ms;
            for (int other = 0; other < 3; ++other) {
                world.edge(source, other).tears_at = 0;
            }
            if (source == 2) {  // then it is the only one when the others come
                scene.training.steps = 4;
                life.computes = 40ms;
                scene.lives[0].comes = 30ms;
                scene.lives[1].comes = 30ms;
            }
            scene.play();
            REQUIRE(world.dead(source));
        });
    }
}

TEST_CASE("who has copied keeps it, also if the step does not count") {
    worlds({3}, [](World& world) {
        Scene scene(world);
        scene.lives[0].dies_after = 2;
        scene.play();
        for (const std::size_t who : {1, 2}) {
            INFO(
                "a sends its weights (1000, 1001, ...) to b and c, and dies. Those of "
                << scene.lives[who].name << " are at the end " << scene.lives[who].state.front()
                << ", ..."
            );
            REQUIRE(scene.lives[who].state.front() < 2000);
        }
    });
}

TEST_CASE("who dies in an all_reduce keeps nobody waiting, there or in the next one") {
    on_one([] {
        for (const std::size_t victim : {0, 1, 2}) {
            const long before = messages_in(1, 3, victim);
            for (long more = 1; more <= 8; ++more) {  // 4 are sent there, and 4 received
                INFO(
                    "of 3 replicas, number " << victim << " (0 is a) dies in its first all_reduce"
                );
                INFO("after " << more << " of its 8 messages");
                Death death(3, victim, before + more, static_cast<std::uint64_t>(more));
                death.scene.play();
                REQUIRE(death.told() == "00");
            }
        }
    });
}

TEST_CASE("who dies before its vote has said no, and who dies after it yes") {
    on_one([] {
        for (const std::size_t victim : {1, 2}) {
            const long all = messages_in(2, 3, victim);  // the last are the vote, and the answer
            for (std::uint64_t seed = 0; seed < 3; ++seed) {
                {
                    INFO("of 3 replicas, number " << victim << " (0 is a) dies before its vote");
                    Death death(3, victim, all - 2, seed);
                    death.scene.play();
                    REQUIRE(death.told() == "00");
                }
                INFO("of 3 replicas, number " << victim << " (0 is a) dies when it has voted yes");
                Death death(3, victim, all - 1, seed);
                death.scene.play();
                REQUIRE(death.told() == "11");
            }
        }
    });
}

TEST_CASE("rank 0 dies while it tells: those that were not told heal from those that were") {
    on_one([] {
        for (const bool stands_still : {false, true}) {
            int splits = 0;
            const long all = messages_in(2, 4, 0);
            for (long messages = all - 6; messages < all; ++messages) {
                INFO(
                    "of 4 replicas, a dies " << all - messages << " messages before its step ends"
                );
                INFO(
                    (stands_still ? "those that took a step alone stand still"
                                  : "those that took a step alone go on at once")
                );
                Death death(4, 0, messages);
                for (Life& life : death.scene.lives) {
                    life.stands_still = stands_still ? 3000ms : 0ms;
                }
                death.scene.may_lose = stands_still;
                death.scene.play();
                const std::string told = death.told();
                splits += told == "000" || told == "111" ? 0 : 1;
            }
            INFO("runs in which some were told, and others were not: " << splits);
            CHECK(splits == 2);
        }
    });
}

TEST_CASE("replicas, of which one dies at each message of two steps") {
    on_one([] {
        for (const int p : {2, 3, 4}) {
            for (std::size_t victim = 0; victim < static_cast<std::size_t>(p); ++victim) {
                const long most = messages_in(2, p, victim);  // in the first step all copy
                Comparison dies{most > 0, "it has no messages"};
                for (long messages = 0; messages < most && dies; ++messages) {
                    INFO(
                        p << " replicas; replica " << victim << " (0 is a) dies after " << messages
                          << " messages"
                    );
                    Death death(p, victim, messages, static_cast<std::uint64_t>(messages));
                    death.scene.play();
                    dies = {
                        death.scene.is_dead(death.scene.lives[victim]),
                        text("it lives after ", messages, " messages")};
                }
                INFO(p << " replicas; replica " << victim << " (0 is a) dies");
                REQUIRE(dies);
            }
        }
    });
}

TEST_CASE("replicas that come late, are slow, err and die by chance") {
    long dead = 0;
    long refused = 0;
    on_one([&] {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            INFO("seed " << seed);
            std::uint64_t drawn = 0;
            const auto draw = [&](std::uint64_t end) {
                return static_cast<long>(seeded_bits(seed, drawn++) % end);
            };
            World world(4 + static_cast<int>(seed % 2), seed);
            Scene scene(world);
            scene.training.steps = 5;
            for (Life& life : scene.lives) {
                life.comes = Ms(draw(3) == 0 ? draw(100) : 0);
                life.computes = Ms(5 + draw(40));
                life.errs_in = draw(5) == 0 ? static_cast<int>(draw(4)) : -1;
            }
            for (int one = 0; one < 2; ++one) {
                Life& life = scene.lives[static_cast<std::size_t>(draw(scene.lives.size()))];
                life.comes = 0ms;
                life.dies_after = draw(30);
            }
            scene.play();
            for (const Life& life : scene.lives) {
                dead += scene.is_dead(life) ? 1 : 0;
                refused += std::ranges::count(life.commits, false);
            }
        }
        INFO(dead << " replicas died, and " << refused << " attempts did not count");
        CHECK((dead >= 10 && refused >= 10));
    });
}

TEST_CASE("begin() refuses a transport that has not a rank for each member") {
    on_one([] {
        World world(2);
        WorldTransport transport(world, 0);
        Row row(4);
        QuorumStep step(row, 5);
        CHECK(step.step() == 5);
        const Quorum three = quorum_of(1, "abc", 5, {0, 1, 2});
        CHECK(thrown_as([&] { step.begin(three, transport); }) == kInvalidArgument);
    });
}

TEST_CASE("on processes: all have the same bits; then one is killed, and the step does not count") {
    on_one([] {
        const Processes run = on_transport(
            3,
            [](Transport& transport, int rank, int) {
                Row row(1000, static_cast<float>(rank + 1));
                Row gradient(7, 3);
                QuorumStep step(row);
                step.begin(quorum_of(1, "abc", 0, {0, 0, 0}), transport);
                step.all_reduce(gradient);
                Row zero(3, -0.0F);
                step.all_reduce(zero);
                CHECK(step.should_commit());
                {
                    INFO("the mean of one -0, while two heal");
                    CHECK(std::signbit(zero[0]));
                }
                CHECK(gradient == Row(7, 3));
                CHECK(row == Row(1000, 1));
                step.begin(quorum_of(1, "abc", 1, {0, 1, 2}), transport);
                Row rough(100);
                for (std::size_t i = 0; i < rough.size(); ++i) {
                    rough[i] = 1 / static_cast<float>(3 * i + static_cast<std::size_t>(rank) + 3);
                }
                step.all_reduce(rough);
                CHECK(step.should_commit());
                has_rank_0s_bits(rough, transport);
                step.begin(quorum_of(1, "abc", 2, {0, 1, 2}), transport);
                if (rank == 2) {
                    raise(SIGKILL);
                }
                step.all_reduce(gradient);
                CHECK(!step.should_commit());
                CHECK(step.step() == 2);
            },
            {2}
        );
        CHECK(run.died[2] == "killed by SIGKILL");
        CHECK(run.passed);
    });
}
