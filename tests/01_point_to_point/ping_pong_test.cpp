// ping_pong: the latency and the bandwidth of a network that is known.
#include "exercises/01_point_to_point/ping_pong.hpp"

#include <cmath>
#include <numeric>
#include <sstream>
#include <string>

#include "course/protocol/counted.hpp"
#include "tests/harness/mpi/known_network.hpp"
#include "tests/harness/words/patterns.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr double kTolerance = 1e-6;  // times are exact but for the clock's last digits
constexpr double kWarmUpS = 3e-3;

struct Wire {
    const char* name;
    Link link;
};
constexpr Wire kWires[] = {
    {"a fast network, 2 us and 10 GB/s", {2e-6, 1e10}},
    {"a slow network, 50 us and 125 MB/s", {5e-5, 1.25e8}},
    {"a long way, 20 ms and 1 GB/s", {2e-2, 1e9}},
};

bool close(double a, double b) {
    return std::abs(a - b) <= kTolerance * std::abs(b);
}

/// Which known mistake explains that `got` was measured where `right` is; "" if none.
std::string suspicion(const Link& got, const Link& right, int repetitions) {
    const auto largest = static_cast<double>(kPingPongBytes.back());
    const auto scaled = [&](double times) {
        return close(got.latency_s, right.latency_s * times) &&
               close(got.bytes_per_s, right.bytes_per_s / times);
    };
    if (scaled(2)) {
        return "these are whole round trips: one message takes half of it";
    }
    if (scaled(0.5)) {
        return "half of what a message takes: halved twice, or both messages are under way at "
               "once (rank 1 sends back when it has received)";
    }
    if (repetitions > 1 && (scaled(repetitions) || scaled(2.0 * repetitions))) {
        return "all repetitions were counted as one: divide by them";
    }
    if (!(got.bytes_per_s < 1e300) || (got.latency_s == 0 && got.bytes_per_s == 0)) {
        return "no time has passed between the two calls of MPI_Wtime(): read it a second time "
               "when the answer is there, and on the rank that sends first";
    }
    if (close(got.bytes_per_s, right.bytes_per_s / 4) ||
        close(got.bytes_per_s, right.bytes_per_s * 4)) {
        return "the bandwidth is wrong by a factor of four, the bytes of a float: lengths are in "
               "bytes";
    }
    if (close(got.bytes_per_s, 1 / right.bytes_per_s)) {
        return "that is seconds a byte: the bandwidth is its inverse, bytes a second";
    }
    if (std::abs(got.latency_s - right.latency_s) > 1) {
        return "two clocks were compared: every rank has its own, and only differences of one "
               "rank's times mean anything";
    }
    if (got.latency_s == 0) {
        return "without a latency the line goes through the origin: it needs two unknowns";
    }
    if (close(got.bytes_per_s, largest / (right.latency_s + largest / right.bytes_per_s))) {
        return "that is the longest message over all of its time, the latency included";
    }
    if (close(got.bytes_per_s, right.bytes_per_s) && got.latency_s > right.latency_s) {
        return "the first round trip of each length is slower here, and must not count";
    }
    return "is it half of what passes by MPI_Wtime() in a round trip, and a line with both "
           "unknowns?";
}

/// Whether the measured link is that of the network.
Comparison is_link(const Link& got, const Link& right, int repetitions) {
    std::ostringstream text;
    text.precision(9);
    if (!close(got.latency_s, right.latency_s)) {
        text << "latency_s: expected " << right.latency_s << ", got " << got.latency_s << "; ";
    }
    if (!close(got.bytes_per_s, right.bytes_per_s)) {
        text << "bytes_per_s: expected " << right.bytes_per_s << ", got " << got.bytes_per_s
             << "; ";
    }
    if (text.str().empty()) {
        return {};
    }
    return {false, text.str() + suspicion(got, right, repetitions)};
}

/// Whether both ranks returned the same bits.
Comparison same_on_both_ranks(const Link& mine, const Communicator& comm) {
    Link links[2];
    MPI_CHECK(MPI_Allgather(&mine, 2, MPI_DOUBLE, links, 2, MPI_DOUBLE, comm.handle()));
    std::ostringstream text;
    text.precision(17);
    for (const Link& link : links) {
        text << (&link == links ? "rank 0 returned " : ", rank 1 ") << link.latency_s << " s and "
             << link.bytes_per_s << " bytes/s";
    }
    return {
        links[0].latency_s == links[1].latency_s && links[0].bytes_per_s == links[1].bytes_per_s,
        text.str()};
}

/// The line whose relative errors have the least sum of squares, from what messages really take.
Link fitted(const Link& link, double rendezvous_s) {
    double w = 0, wx = 0, wt = 0, wxx = 0, wxt = 0;
    for (const std::size_t bytes : kPingPongBytes) {
        const auto x = static_cast<double>(bytes);
        const double t =
            link.latency_s + x / link.bytes_per_s + (bytes >= 65536 ? rendezvous_s : 0);
        w += 1 / (t * t);
        wx += x / (t * t);
        wt += 1 / t;
        wxx += x * x / (t * t);
        wxt += x / t;
    }
    const double s_per_byte = (w * wxt - wx * wt) / (w * wxx - wx * wx);
    return {(wt - s_per_byte * wx) / w, 1 / s_per_byte};
}

void check_refusal(int repetitions, const Communicator& comm) {
    const KnownNetwork network(1e-6, 1e9);
    const Answer got = answer(comm, [&] { ping_pong(repetitions, comm); });
    CHECK(got.what == kInvalidArgument);
    INFO("it refused too late: it had sent messages");
    CHECK(got.traffic.messages_sent == 0);
}

}  // namespace

TEST_CASE("ping_pong finds the latency and the bandwidth of the network") {
    const Wire wire = GENERATE(from_range(std::begin(kWires), std::end(kWires)));
    on_ranks({2}, [&](const Communicator& comm) {
        const int repetitions = 3;
        const KnownNetwork network(wire.link.latency_s, wire.link.bytes_per_s);
        const Link link = ping_pong(repetitions, comm);
        INFO(wire.name << ", " << repetitions << " repetitions");
        CHECK(is_link(link, wire.link, repetitions));
    });
}

TEST_CASE("ping_pong returns the same on both ranks, to the last bit") {
    on_ranks({2}, [](const Communicator& comm) {
        const KnownNetwork network(7e-6, 3e9);
        const Link link = ping_pong(1, comm);
        INFO("rank 0 sends its line to rank 1, as doubles: a float keeps 7 digits of 16");
        CHECK(same_on_both_ranks(link, comm));
    });
}

TEST_CASE("ping_pong takes the median of its repetitions") {
    on_ranks({2}, [](const Communicator& comm) {
        const Link right = {5e-5, 1.25e8};
        const KnownNetwork network(right.latency_s, right.bytes_per_s, {.noise = 0.25});
        const Link link = ping_pong(3, comm);
        INFO("of three round trips the first takes a quarter longer, the last a quarter less");
        const Comparison result = is_link(link, right, 3);
        CHECK(result);
    });
}

TEST_CASE("ping_pong fits a line to all lengths: the least squares of the relative errors") {
    on_ranks({2}, [](const Communicator& comm) {
        const Link link = {5e-5, 1.25e8};
        const KnownNetwork network(link.latency_s, link.bytes_per_s, {.rendezvous_s = 2e-4});
        const Link got = ping_pong(1, comm);
        INFO("from 64 KiB on a message takes 0.2 ms more: no line goes through all five points");
        INFO("each error is divided by its time, or the long messages alone decide");
        const Comparison result = is_link(got, fitted(link, 2e-4), 1);
        CHECK(result);
    });
}

TEST_CASE("ping_pong does not count the first round trip of each length") {
    const int repetitions = GENERATE(1, 2);
    on_ranks({2}, [&](const Communicator& comm) {
        const Link right = {5e-5, 1.25e8};
        const KnownNetwork network(right.latency_s, right.bytes_per_s, {.warm_up_s = kWarmUpS});
        const Link link = ping_pong(repetitions, comm);
        INFO("the first message of each length takes " << kWarmUpS << " s more");
        CHECK(is_link(link, right, repetitions));
    });
}

TEST_CASE("ping_pong makes a round trip for each repetition, one to warm up, and sends the result"
) {
    const int repetitions = GENERATE(1, 3);
    on_ranks({2}, [&](const Communicator& comm) {
        const KnownNetwork network(1e-6, 1e9);
        const Traffic traffic = record(comm, [&] { ping_pong(repetitions, comm); });
        const long round_trips = (repetitions + 1) * static_cast<long>(kPingPongBytes.size());
        const std::size_t bytes =
            std::accumulate(kPingPongBytes.begin(), kPingPongBytes.end(), std::size_t{0});
        const long total_bytes = (repetitions + 1) * static_cast<long>(bytes);
        INFO(
            counted(repetitions, "repetition")
            << " of " << kPingPongBytes.size() << " lengths, and 1 round trip of each before: "
            << round_trips << " round trips. Rank 0 sends one message more"
        );
        CHECK(within(
            traffic, {.messages_sent = exactly(round_trips + (comm.rank() == 0 ? 1 : 0)),
                      .bytes_sent = {total_bytes, total_bytes + 64}}
        ));
        INFO("rank 0 sends first, and rank 1 sends back");
        const auto messages = recorded_messages(comm);
        CHECK((!messages.empty() && messages.front().src == 0));
    });
}

TEST_CASE("ping_pong measures the communicator that was given") {
    on_ranks({4}, [](const Communicator& comm) {
        // two pairs at the same time, each on a network of its own, the higher rank first
        const int pair = comm.rank() / 2;
        const Communicator two = comm.split(pair, -comm.rank());
        const Link right = kWires[pair].link;
        const KnownNetwork network(right.latency_s, right.bytes_per_s);
        INFO("pair " << pair << " of two pairs: " << kWires[pair].name);
        CHECK(is_link(ping_pong(1, two), right, 1));
    });
}

TEST_CASE("ping_pong throws dist::Error if a message fails") {
    reports_failures(
        [](const Communicator& comm) {
            const KnownNetwork network(1e-6, 1e9);
            ping_pong(1, comm);
        },
        {2}
    );
}

TEST_CASE("ping_pong takes two ranks and at least one repetition") {
    on_ranks({1, 3}, [](const Communicator& comm) {
        if (comm.size() == 2) {
            return;  // asked for by -n 2
        }
        INFO(counted(comm.size(), "rank") << ": every rank must refuse that");
        check_refusal(1, comm);
    });
    on_ranks({2}, [](const Communicator& comm) {
        for (const int repetitions : {0, -1}) {
            INFO(repetitions << " repetitions: every rank must refuse that");
            check_refusal(repetitions, comm);
        }
    });
}
