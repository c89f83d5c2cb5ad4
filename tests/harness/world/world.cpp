#include "tests/harness/world/world.hpp"

#include <algorithm>
#include <numeric>

#include "course/runtime/seeded.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/garbled.hpp"

namespace dist::harness {
namespace {

constexpr int kLooks = 20'000;  // of one rank, while nothing moves and no time passes
constexpr std::size_t kSeeds = 3;
constexpr int kNoRank = -1;  // what happens meanwhile

// As a REQUIRE in that line.
void fail_at(TestLine line, const std::string& what) {
    const Comparison wrong{false, what};
    Catch::AssertionHandler handler(
        "REQUIRE", Catch::SourceLineInfo(line.file, static_cast<std::size_t>(line.number)),
        "all ranks do as they must", Catch::ResultDisposition::Normal
    );
    handler.handleExpr(Catch::Decomposer() <= wrong);
    handler.complete();
}

std::string died(int rank) {
    return text("rank ", rank, " does not answer");
}

}  // namespace

// ---- the transport

int WorldTransport::size() const {
    return world_.size();
}

void WorldTransport::check(int other) const {
    world_.live(rank_);
    expects(0 <= other && other < size(), "WorldTransport: there is no such rank");
}

Request WorldTransport::isend(
    std::span<const std::byte> data, int dst, std::uint32_t group, int tag
) {
    check(dst);
    world_.before(rank_, "isend", dst, data.size());
    world_.live(rank_);
    Edge& edge = world_.edge(rank_, dst);
    const long number = edge.messages++;
    edge.bytes += static_cast<long>(data.size());
    edge.begun.push_back(world_.time.now());
    ++world_.moves;
    auto request = std::make_shared<Pending>();
    const bool is_torn = edge.tears_at == number;
    if (edge.loses == number) {
        request->is_done = true;
        return request;
    }
    std::vector<std::byte> sent(data.begin(), data.end());
    edge.mail.push_back(
        {data, std::move(sent), group, tag, world_.arrival(edge, data.size(), group, tag), request}
    );
    if (is_torn) {
        Edge::Mail& mail = edge.mail.back();
        for (const Edge::Receive& receive : edge.posted) {
            if (receive.group == group && receive.tag == tag) {
                const auto half = data.first(std::min(data.size(), receive.place.size()) / 2);
                std::ranges::copy(half, receive.place.begin());
            }
        }
        mail.request->is_done = true;
        edge.mail.pop_back();
        world_.kill(rank_);
        world_.live(rank_);
    }
    request->is_done = world_.buffered && !edge.is_full && !world_.dead(dst);
    world_.move(rank_, dst);
    return request;
}

Request WorldTransport::irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) {
    check(src);
    world_.before(rank_, "irecv", src, data.size());
    world_.live(rank_);
    auto request = std::make_shared<Pending>();
    world_.edge(src, rank_).posted.push_back({data, group, tag, request});
    return request;
}

Arrival WorldTransport::wait(const Request& request) {
    until("wait()", [&] { return test(request); });
    return request->arrival;
}

bool WorldTransport::test(const Request& request) {
    look();
    if (!request->error.empty()) {
        throw Error(request->error);
    }
    return request->is_done;
}

Arrival WorldTransport::probe(int src, std::uint32_t group, int tag) {
    Arrival found;
    until(text("probe() of rank ", src, ", group ", group, ", tag ", tag), [&] {
        check(src);
        look();
        for (const Edge::Mail& mail : world_.edge(src, rank_).mail) {
            const bool is_it = mail.group == group && mail.tag == tag;
            if (is_it && mail.due <= world_.time.now()) {
                found = {src, tag, mail.data.size()};
                return true;
            }
        }
        if (world_.dead(src)) {
            throw Error(died(src));
        }
        return false;
    });
    return found;
}

void WorldTransport::look() {
    world_.live(rank_);
    for (int other = 0; other < size(); ++other) {
        world_.move(other, rank_);
        world_.move(rank_, other);
    }
    const bool is_new = world_.moves != moves_ || world_.time.now() != looked_;
    looks_ = is_new ? 0 : looks_ + 1;
    moves_ = world_.moves;
    looked_ = world_.time.now();
    if (looks_ > kLooks) {
        throw VirtualTime::Endless("it looks again and again, and does not sleep by its clock");
    }
}

void WorldTransport::until(const std::string& call, const std::function<bool()>& holds) {
    constexpr Ms kLongest = 5s;
    Place& me = *world_.places_.at(static_cast<std::size_t>(rank_));
    const std::string before = me.does;
    const Ms since = world_.time.now();
    while (!holds()) {
        me.does = text(before, before.empty() ? "" : ", ", "waits in ", call, " since ", since);
        if (world_.time.now() - since > kLongest) {
            throw VirtualTime::Endless("it still waits for a message after 5 s");
        }
        world_.time.sleep(1ms);
    }
    me.does = before;
}

// ---- the clock

Clock::Duration WorldClock::now() {
    return world_.time.look() + skew;
}

void WorldClock::sleep(Duration duration) {
    sleeps.push_back(duration);
    passes_ = world_.moves == moves_ && duration == 0ms ? passes_ + 1 : 0;
    moves_ = world_.moves;
    if (duration > 0ms) {
        world_.time.sleep(duration + late);
    } else if (passes_ < 4 * world_.size()) {
        world_.time.pass();
    } else if (!is_alone) {
        world_.time.sleep(1ms + late);
    }
    world_.live(rank_);
    const Ms end = world_.patience > 0ms ? world_.patience : Ms(16'000 / world_.size());
    if (late == 0ms && world_.time.now() > end) {
        throw VirtualTime::Endless("it still waits, long after it should have gone on");
    }
}

// ---- a rank

Place::Place(World& its_world, int its_rank)
    : world(its_world),
      rank(its_rank),
      p(its_world.size()),
      transport(its_world, its_rank),
      clock(its_world, its_rank) {}

Ms Place::now() const {
    return world.time.now();
}

void Place::sleep_until(Ms time) {
    if (time > now()) {
        clock.sleep(time - now());
    }
}

void Place::until(const std::function<bool()>& look) {
    while (!look()) {
        clock.sleep(1ms);
    }
}

// ---- the world

World::World(int p, std::uint64_t its_seed)
    : seed(its_seed),
      time(its_seed),
      p_(p),
      is_dead_(static_cast<std::size_t>(p)),
      edges_(is_dead_.size() * is_dead_.size()),
      places_(is_dead_.size()) {}

Edge& World::edge(int src, int dst) {
    return edges_.at(
        static_cast<std::size_t>(src) * is_dead_.size() + static_cast<std::size_t>(dst)
    );
}

long World::messages() const {
    const auto plus = [](long sum, const Edge& one) { return sum + one.messages; };
    return std::accumulate(edges_.begin(), edges_.end(), 0L, plus);
}

void World::kill(int rank) {
    is_dead_.at(static_cast<std::size_t>(rank)) = true;
    for (int dst = 0; dst < p_ && !buffered; ++dst) {
        edge(rank, dst).mail.clear();
    }
    ++moves;
}

void World::open(int src, int dst) {
    Edge& to = edge(src, dst);
    to.is_full = false;
    for (Edge::Mail& mail : to.mail) {
        mail.due = std::max(mail.due, time.now() + to.delay.value_or(0ms));
        mail.request->is_done = mail.request->is_done || buffered;
    }
}

void World::live(int rank) const {
    if (dead(rank)) {
        throw Killed();
    }
}

// Not before those of its group and tag that left before it.
Ms World::arrival(const Edge& on, std::size_t bytes, std::uint32_t group, int tag) {
    const auto steps = static_cast<std::uint64_t>(slowest.count()) + 1;
    const Ms drawn(static_cast<std::int64_t>(seeded_bits(seed, ++drawn_) % steps));
    Ms due = time.now() + on.delay.value_or(drawn);
    due += Ms(bytes_per_ms > 0 ? static_cast<std::int64_t>(bytes / bytes_per_ms) : 0);
    for (const Edge::Mail& earlier : on.mail) {
        const bool is_row = earlier.group == group && earlier.tag == tag;
        due = is_row ? std::max(due, earlier.due) : due;
    }
    return due;
}

// Gives receives what has come for them; those from a rank that has died, and sends to it, an error.
void World::move(int src, int dst) {
    Edge& on = edge(src, dst);
    std::erase_if(on.posted, [&](const Edge::Receive& receive) {
        const auto first = std::ranges::find_if(on.mail, [&](const Edge::Mail& one) {
            return one.group == receive.group && one.tag == receive.tag;
        });
        const bool takes = first != on.mail.end() && !on.is_full && !dead(dst);
        if (takes && first->due <= time.now()) {
            hand_over(*first, receive, src);
            on.mail.erase(first);
        } else if (dead(src) && (first == on.mail.end() || on.is_full)) {
            end(*receive.request, died(src));
        }
        return receive.request->is_done;
    });
    while (dead(dst) && !on.mail.empty()) {
        if (!on.mail.front().request->is_done) {
            end(*on.mail.front().request, died(dst));
        }
        on.mail.pop_front();
    }
}

void World::hand_over(Edge::Mail& mail, const Edge::Receive& receive, int src) {
    const std::size_t n = mail.sent.size();
    if (!mail.request->is_done && !std::ranges::equal(mail.data, mail.sent)) {
        throw std::runtime_error(text(
            "rank ", src, " has changed the ", n, " bytes of a message before its send was done"
        ));
    }
    const bool fits = n <= receive.place.size();
    if (fits) {
        std::ranges::copy(mail.sent, receive.place.begin());
        garble_if_asked(receive.place.first(n));
        receive.request->arrival = {src, mail.tag, n};
    }
    if (!mail.request->is_done) {
        end(*mail.request, "");
    }
    end(*receive.request, fits ? ""
                               : text(
                                     "a message of ", n, " bytes from rank ", src,
                                     " does not fit into ", receive.place.size()
                                 ));
}

void World::end(Pending& request, const std::string& error) {
    request.error = error;
    request.is_done = true;
    ++moves;
}

void World::play_as(const Make& make, const Body& body, TestLine at) {
    std::vector<std::function<void()>> plots;
    plots.reserve(places_.size());
    for (int rank = 0; rank < p_; ++rank) {
        plots.emplace_back([&, rank] { live_as(rank, make, body); });
    }
    for (const auto& [rank, when] : dies) {
        plots.emplace_back([this, rank = rank, when = when] {
            time.sleep(when);
            kill(rank);
        });
    }
    if (meanwhile) {
        plots.emplace_back([this] { happen(); });
    }
    time.run(plots);
    for (auto& place : places_) {
        place.reset();  // nothing moves any more
    }
    if (!wrong_.empty()) {
        fail_at(at_.value_or(at), wrong_);
    }
}

void World::live_as(int rank, const Make& make, const Body& body) {
    auto& place = places_.at(static_cast<std::size_t>(rank));
    try {
        place = make(rank);
        body(*place);
        place->does = "has ended";
    } catch (const Killed&) {  // as the world wants it
    } catch (const NotImplemented&) {
        throw;
    } catch (const Unmet& error) {
        fail(rank, error.what(), error.at);
    } catch (const VirtualTime::Endless& error) {
        fail(rank, error.what() + picture(), {});
    } catch (const std::exception& error) {
        fail(rank, error.what(), {});
    } catch (...) {
        fail(rank, "what comes out of a call is no std::exception", {});
    }
}

void World::happen() {
    try {
        meanwhile();
    } catch (const Unmet& error) {
        fail(kNoRank, error.what(), error.at);
    } catch (const std::exception& error) {
        fail(kNoRank, error.what(), {});
    }
}

// The first that goes wrong is told. The others need not wait for it.
void World::fail(int rank, const std::string& what, std::optional<TestLine> at) {
    if (wrong_.empty()) {
        wrong_ = text("at ", time.now(), rank == kNoRank ? "" : text(", rank ", rank), ": ", what);
        at_ = at;
    }
    for (int other = 0; other < p_; ++other) {
        kill(other);
    }
}

// What each rank does, and what nobody has read.
std::string World::picture() const {
    std::string all;
    for (const auto& place : places_) {
        if (place && !place->does.empty()) {
            all += text("\n  rank ", place->rank, " ", place->does);
        }
    }
    for (std::size_t i = 0; i < edges_.size(); ++i) {
        for (const Edge::Mail& mail : edges_[i].mail) {
            all += text(
                "\n  unread: ", mail.sent.size(), " bytes from rank ", i / places_.size(),
                " to rank ", i % places_.size(), ", group ", mail.group, ", tag ", mail.tag
            );
        }
    }
    return all;
}

void worlds(const std::vector<int>& sizes, const std::function<void(World& world)>& body) {
    on_ranks_each(
        {1}, [&](int) { return sizes.size() * kSeeds; },
        [&](const Communicator&, std::size_t number) {
            const int p = sizes[number / kSeeds];
            const std::uint64_t seed = number % kSeeds;
            INFO("ranks: " << p << ", seed " << seed);
            World world(p, seed);
            body(world);
        }
    );
}

void on_one(const std::function<void()>& body) {
    on_ranks({1}, [&](const Communicator&) { body(); });
}

}  // namespace dist::harness
