// simulate as a command, on simulated clusters.
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/simulate/replayed.hpp"
#include "tests/course/cli_simulated.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

#ifdef SHARDLINGS_CLI
namespace {

/// The times, by "algorithm ranks bytes".
std::map<std::string, nlohmann::json> times_of(
    const std::vector<std::string>& words, int status = 0
) {
    std::vector<std::string> all = words;
    all.emplace_back("--json");
    const Ended ended = simulate(all);
    INFO(ended.output);
    REQUIRE(ended.status == status);
    std::map<std::string, nlohmann::json> times;
    const auto document = nlohmann::json::parse(ended.output.substr(ended.output.find('{')));
    for (const auto& time : document["times"]) {
        times
            [time["algorithm"].get<std::string>() + " " + std::to_string(time["ranks"].get<int>()) +
             " " + std::to_string(time["size_bytes"].get<long>())] = time;
    }
    return times;
}

/// The status of a refusal, and what it says.
void check_refused(const std::vector<std::string>& words, const std::string& says) {
    const Ended ended = simulate(words);
    INFO(ended.output);
    CHECK(ended.status == 2);
    CHECK(ended.output.find(says) != std::string::npos);
}

}  // namespace

TEST_CASE(
    "on nodes, ring and hierarchical take what their formulas say, and cross as often", "[simgrid]"
) {
    constexpr long kBytes = 4L << 20U;
    constexpr int kPerNode = 8;
    const auto times = times_of(
        {"all_reduce", "--nodes", "1,2,4", "--per-node", "8", "--sizes", "4M", "--algorithms",
         "ring,hierarchical", "--inside-bandwidth", "100Gbit", "--inside-latency", "500ns"}
    );
    for (const int nodes : {1, 2, 4}) {
        const int p = nodes * kPerNode;
        const auto at = [&](const std::string& name) {
            return times.at(name + " " + std::to_string(p) + " " + std::to_string(kBytes));
        };
        INFO(nodes << " nodes");
        for (const char* const name : {"ring", "hierarchical"}) {
            INFO(name);
            const double ratio =
                at(name)["seconds"].get<double>() / at(name)["model_s"].get<double>();
            CHECK(ratio == Approx(1).epsilon(0.0002));
            CHECK(at(name)["wrong"] == 0);
            CHECK(at(name)["bytes"] == 2L * (p - 1) * kBytes);
        }
        CHECK(at("ring")["crossing"] == (nodes == 1 ? 0 : nodes * 2L * (p - 1) * kBytes / p));
        CHECK(at("hierarchical")["crossing"] == 2L * (nodes - 1) * kBytes);
        CHECK(at("hierarchical")["messages"] == p * (2L * (kPerNode - 1) + 2L * (nodes - 1)));
        CHECK(at("ring")["messages"] == 2L * p * (p - 1));
    }
}

TEST_CASE("on nodes, auto takes hierarchical where that is the fastest", "[simgrid]") {
    const auto times = times_of(
        {"all_reduce", "--nodes", "1,4", "--per-node", "8", "--sizes", "1K,4M", "--algorithms",
         "recursive_doubling,halving_doubling,hierarchical,auto", "--inside-bandwidth", "100Gbit",
         "--inside-latency", "500ns", "--bandwidth", "10Gbit", "--latency", "2us"}
    );
    const auto seconds = [&](const std::string& row) -> double { return times.at(row)["seconds"]; };
    CHECK(seconds("auto 8 1024") == Approx(seconds("recursive_doubling 8 1024")));
    CHECK(seconds("auto 8 4194304") == Approx(seconds("halving_doubling 8 4194304")));
    CHECK(seconds("auto 32 1024") == Approx(seconds("recursive_doubling 32 1024")));
    CHECK(seconds("auto 32 4194304") == Approx(seconds("hierarchical 32 4194304")));
    CHECK(seconds("auto 32 4194304") < seconds("halving_doubling 32 4194304"));
}

TEST_CASE("simulate says what nodes need before it runs anything", "[simgrid]") {
    check_refused({"all_reduce", "--nodes", "4"}, "--nodes needs --per-node");
    for (const std::string option : {"--inside-latency", "--inside-bandwidth"}) {
        check_refused({"all_reduce", option, "1"}, option + " needs --per-node");
    }
    for (const std::string option : {"--latency", "--bandwidth"}) {
        check_refused({"all_reduce", option, "1", "--platform", "x"}, "--platform and " + option);
    }
    check_refused(
        {"all_reduce", "--ranks", "4,16,64", "--nodes", "2", "--per-node", "4"}, "give one of them"
    );
    check_refused({"all_reduce", "--formula", "--peers", "mpich"}, "--formula runs nothing");
    check_refused(
        {"all_reduce", "--ranks", "12", "--per-node", "8"}, "no whole number of nodes of 8"
    );
    check_refused(
        {"all_reduce", "--ranks", "8", "--nodes", "2", "--per-node", "4"}, "give one of them"
    );
    check_refused({"all_reduce", "--nodes", "1", "--per-node", "1"}, "nobody to talk to");
    check_refused({"all_reduce", "--nodes", "0", "--per-node", "4"}, "no number of nodes from 1");
    check_refused({"all_reduce", "--ranks", "4", "--algorithms", "hierarchical"}, "add --per-node");
}

TEST_CASE("the ring takes what the formula says, and naive N times as long", "[simgrid]") {
    const auto times = times_of(
        {"all_reduce", "--ranks", "4,8,16,64", "--sizes", "4M", "--algorithms", "naive,ring"}
    );
    for (const int p : {4, 8, 16, 64}) {
        const auto at = [&](const std::string& name) {
            return times.at(name + " " + std::to_string(p) + " 4194304");
        };
        INFO(p);
        const double ring_s = at("ring")["seconds"];
        CHECK(ring_s / at("ring")["model_s"].get<double>() == Approx(1).epsilon(0.0002));
        CHECK(
            at("naive")["seconds"].get<double>() / at("naive")["model_s"].get<double>() ==
            Approx(1).epsilon(0.0002)
        );
        CHECK(at("naive")["seconds"].get<double>() / ring_s > 0.9 * p);
        CHECK(at("ring")["wrong"] == 0);
        CHECK(at("ring")["messages"] == 2 * p * (p - 1));
        CHECK(at("ring")["bytes"] == 2L * (p - 1) * 4194304);
    }
}

TEST_CASE(
    "every algorithm is right on 16 simulated ranks, and adding takes its time", "[simgrid]"
) {
    for (const char* const collective :
         {"all_reduce", "broadcast", "reduce", "scatter", "gather", "all_gather", "reduce_scatter",
          "all_to_all", "barrier"}) {
        const auto times = times_of(
            {collective, "--ranks", "16", "--sizes", "1K,1M", "--compute", "5GB", "--peers", "ompi"}
        );
        CHECK(times.size() >= 3);
        for (const auto& [name, time] : times) {
            INFO(name);
            CHECK(time["wrong"] == 0);
            if (!time["model_s"].is_null()) {
                CHECK(
                    time["seconds"].get<double>() / time["model_s"].get<double>() ==
                    Approx(1).epsilon(0.01)
                );
            }
        }
    }
}

TEST_CASE("ring_all_reduce holds its time on 64 ranks; one that takes turns is told", "[simgrid]") {
    const auto on_64 = [](const std::string& file) {
        return simulate(
            {"ring_all_reduce", "--as", file, "--ranks", "64", "--sizes", "4M", "--algorithms",
             "mine"}
        );
    };
    const Ended right =
        on_64(std::string(REPOSITORY) + "/solutions/03_ring_and_tree/ring_all_reduce.cpp");
    INFO(right.output);
    CHECK(right.status == 0);
    CHECK(has(right.output, "  1.0000 "));
    CHECK_FALSE(has(right.output, "the formula's time"));
    CHECK_FALSE(has(right.output, "ompi"));  // only mine was asked for

    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("turns-" + std::to_string(getpid()) + ".cpp");
    std::ofstream(file) << R"(
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include <algorithm>
#include <vector>
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
namespace dist {
void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk c = chunk_bounds(data.size(), p, (number + 2 * p) % p);
        return data.subspan(c.begin, c.size());
    };
    std::vector<float> scratch(data.size() / static_cast<std::size_t>(p) + 1);
    for (int s = 0; s < 2 * (p - 1); ++s) {  // rank after rank, in each step
        const auto mine = chunk(r - 2 - s);
        const auto incoming = std::span(scratch).first(mine.size());
        const auto take = [&] { recv(incoming, (r + p - 1) % p, comm); };
        if (r > 0) {
            take();
        }
        send(chunk(r - 1 - s), (r + 1) % p, comm);
        if (r == 0) {
            take();
        }
        if (s < p - 1) {
            accumulate(incoming, mine, op);
        } else {
            std::copy(incoming.begin(), incoming.end(), mine.begin());
        }
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}
}
)";
    const Ended slow = on_64(file.string());
    std::filesystem::remove(file);
    INFO(slow.output);
    CHECK(has(slow.output, "# mine takes 64.0 times the formula's time on 64 ranks: "));
    CHECK_FALSE(has(slow.output, "WRONG"));
}

TEST_CASE("peers that are replayed take what they take with data", "[simgrid]") {
    Context context;
    context.root = REPOSITORY;
    const auto times = times_of(
        {"all_reduce", "--ranks", "12", "--sizes", "4M", "--algorithms", "mpi", "--peers", "lr,rdb"}
    );
    for (const std::string peer : {"lr", "rdb"}) {
        const double with_data = times.at(peer + " 12 4194304")["seconds"];
        CHECK(
            replayed_s(context, {}, 12, "all_reduce", 4194304, "smpi/allreduce:" + peer).value() ==
            Approx(with_data).epsilon(0.0005)
        );
    }
    CHECK_FALSE(replayed_s(context, {}, 4, "scatter", 1024, "smpi/scatter:mpich").has_value());
}

TEST_CASE("data beyond 1 GiB over all ranks needs no memory of that size", "[simgrid]") {
    const auto times = times_of(
        {"all_reduce", "--ranks", "64", "--sizes", "32M", "--algorithms",
         "recursive_doubling,halving_doubling,mpi", "--peers", "lr"}
    );
    for (const char* const ours : {"recursive_doubling", "halving_doubling"}) {
        const auto& time = times.at(std::string(ours) + " 64 33554432");
        CHECK(
            time["seconds"].get<double>() / time["model_s"].get<double>() ==
            Approx(1).epsilon(0.0002)
        );
    }
    CHECK(times.at("lr 64 33554432")["bus_factor"] == 2 * 63.0 / 64);
    // a ring, by its formula
    CHECK(
        times.at("lr 64 33554432")["seconds"].get<double>() ==
        Approx(2 * 63 * (2e-6 + 33554432.0 / 64 * 8e-10)).epsilon(0.001)
    );
}

TEST_CASE("every rank has the static variables of an answer for itself", "[simgrid]") {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("statics-" + std::to_string(getpid()) + ".cpp");
    std::ofstream(file) << R"(
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"
namespace dist {
int in_file = -1;
inline int in_header = -1;
template <class T> T& first(T value) { static T kept = value; return kept; }
void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static thread_local bool called = false;
    in_file = in_file < 0 ? comm.rank() : in_file;
    in_header = in_header < 0 ? comm.rank() : in_header;
    called = true;
    reduce(data, op, 0, comm);
    broadcast(data, 0, comm);
    if (in_file != comm.rank() || in_header != comm.rank() || first(comm.rank()) != comm.rank()) {
        throw Error("another rank's variable");
    }
}
}
)";
    // its test runs several worlds in one process, so that ranks change there
    const auto times = times_of(
        {"all_reduce", "--as", file.string(), "--ranks", "16", "--sizes", "1K", "--algorithms",
         "naive"},
        1
    );
    std::filesystem::remove(file);
    CHECK(times.at("mine 16 1024")["wrong"] == 0);
}

TEST_CASE("a file of one's own is the row mine; what is wrong with it is said", "[simgrid]") {
    const std::string solutions = std::string(REPOSITORY) + "/solutions/03_ring_and_tree/";
    const std::string mutants =
        std::string(REPOSITORY) + "/tests/mutants/03_ring_and_tree/ring_all_reduce.toml:";
    const std::vector<std::string> small = {"ring_all_reduce", "--ranks", "4,16", "--sizes", "64K",
                                            "--algorithms",    "ring",    "--as"};
    const auto with = [&](const std::string& file) {
        std::vector<std::string> words = small;
        words.push_back(file);
        return words;
    };
    const auto times = times_of(with(solutions + "ring_all_reduce.cpp"));
    CHECK(times.at("mine 16 65536")["seconds"] == times.at("ring 16 65536")["seconds"]);

    const Ended wrong = simulate(with(mutants + "wrong_chunk"));
    CHECK(wrong.status == 1);
    CHECK(has(wrong.output, " WRONG in sum\n"));

    for (const char* const other : {"mean_not_scaled", "operation_ignored"}) {
        const Ended no_sum = simulate(with(mutants + other));
        INFO(no_sum.output);
        CHECK(no_sum.status == 1);
        CHECK(has(no_sum.output, std::string(other) + " does not pass its test \""));
        CHECK(has(no_sum.output, " WRONG in "));
        CHECK(has(no_sum.output, "# 4 ranks, fastest: ring\n"));
    }
    const Ended order = simulate(with(mutants + "own_order"));  // its values are right
    INFO(order.output);
    CHECK(order.status == 1);
    const std::size_t told =
        order.output.find("\"ring_all_reduce leaves the same bits on every rank\"");
    CHECK(told < order.output.find("# all_reduce of float32"));
    CHECK(has(order.output, "  fails its test\n"));
    CHECK(has(order.output, "# 4 ranks, fastest: ring\n"));

    const Ended stuck = simulate(with(mutants + "send_first"));
    CHECK(stuck.status == 4);
    CHECK(has(stuck.output, "on 4 simulated ranks mine deadlocks"));

    const Ended thrown = simulate(
        {"all_reduce", "--as",
         std::string(REPOSITORY) + "/tests/cheats/all_reduce.toml:throws_nothing_known", "--ranks",
         "4", "--sizes", "1K", "--algorithms", "naive"}
    );
    CHECK(thrown.status == 1);
    CHECK(has(thrown.output, "on 4 simulated ranks mine threw on rank "));

    const Ended nothing = simulate({"summation_order", "--ranks", "4"});
    CHECK(nothing.status == 2);
    CHECK(has(nothing.output, "is no collective by itself"));

    const Ended stub = simulate({"ring_all_reduce", "--ranks", "4"});
    CHECK(stub.status == 1);
    CHECK(has(stub.output, "ring_all_reduce is not started"));

    const Ended no_mpi = simulate({"simple_model"});
    CHECK(no_mpi.status == 2);
    CHECK(has(no_mpi.output, "cannot run on simulated ranks"));

    const Ended silent = simulate(
        {"shared_memory_all_reduce", "--ranks", "4", "--as",
         solutions + "shared_memory_all_reduce.cpp"}
    );
    CHECK(silent.status == 2);
    CHECK(has(silent.output, "is no collective by itself that passes messages"));

    const auto named = [](const std::string& algorithms) {
        return simulate({"all_reduce", "--ranks", "4", "--algorithms", algorithms}).output;
    };
    CHECK(has(named("ring,shared"), "shared cannot be simulated, as its ranks share memory"));
    CHECK(has(named("gloo"), "gloo cannot be simulated, as its messages do not go through MPI"));
    CHECK(has(named("foo"), "foo is no algorithm of all_reduce; there are: naive, ring, recursive")
    );
    CHECK_FALSE(has(named("foo"), "gloo"));

    const Ended none = simulate({});
    CHECK(none.status == 2);
    CHECK(has(none.output, "an exercise, train, or --paper list"));

    const Ended peer = simulate({"all_reduce", "--ranks", "4", "--sizes", "1K", "--peers", "zork"});
    CHECK(peer.status == 2);
    CHECK(has(peer.output, "has no algorithm 'zork'"));
}

TEST_CASE(
    "what this machine cannot hold is refused at once, and calculated on demand", "[simgrid]"
) {
    const std::vector<std::string> many = {"all_reduce", "--ranks", "65536", "--sizes", "1K"};
    const Ended refused = simulate(many);
    INFO(refused.output);
    CHECK(refused.status == 2);
    CHECK(refused.seconds < 2);
    CHECK(has(refused.output, "--ranks 65536: this machine holds "));
    CHECK(has(refused.output, "or add --formula"));
    CHECK(
        simulate({"train", "--forward", "1s", "--backward", "1s", "--ranks", "65536"}).status == 2
    );

    std::vector<std::string> formulas = many;
    formulas.emplace_back("--formula");
    const auto times = times_of(formulas);
    // 16 steps, each with SMPI's 16 bytes
    CHECK(
        times.at("recursive_doubling 65536 1024")["seconds"].get<double>() ==
        Approx(16 * (2e-6 + 1040 * 8e-10))
    );
    const Ended table = simulate(formulas);
    CHECK(has(table.output, "by its formulas, without a simulation"));
    const Ended none = simulate({"all_reduce", "--formula", "--algorithms", "auto"});
    CHECK(none.status == 2);
    CHECK(has(none.output, "--formula: none of these algorithms has one"));
    formulas[0] = "ring_all_reduce";
    CHECK(has(simulate(formulas).output, "--formula: only the course's own algorithms have one"));
}

TEST_CASE("an answer that ends the simulation is told by what it did", "[simgrid]") {
    const auto with_body = [](const std::string& body) {
        const std::filesystem::path file =
            std::filesystem::temp_directory_path() / ("ends-" + std::to_string(getpid()) + ".cpp");
        std::ofstream(file) << "#include <cstdlib>\n"
                               "#include \"exercises/02_naive_collectives/broadcast.hpp\"\n"
                               "namespace dist {\n"
                               "void broadcast(std::span<float>, int, const Communicator&) { "
                            << body << " }\n}\n";
        Ended ended = simulate({"broadcast", "--as", file.string(), "--ranks", "4"});
        std::filesystem::remove(file);
        return ended;
    };
    const Ended exits = with_body("std::_Exit(0);");
    CHECK(exits.status == 5);
    CHECK(has(exits.output, "mine ended too early, as by exit()"));
    const Ended crashes = with_body("*static_cast<volatile int*>(nullptr) = 1;");
    CHECK(crashes.status == 5);
    CHECK(has(crashes.output, "mine died of SIGSEGV"));

    const std::filesystem::path platform =
        std::filesystem::temp_directory_path() / ("no-cluster-" + std::to_string(getpid()));
    std::ofstream(platform) << "<a/>";
    const Ended misread =
        simulate({"all_reduce", "--ranks", "4", "--sizes", "1K", "--platform", platform.string()});
    std::filesystem::remove(platform);
    INFO(misread.output);
    CHECK(misread.status == 2);
    CHECK(has(misread.output, "--platform: " + platform.string() + ":1: Invalid XML"));
}
#endif
