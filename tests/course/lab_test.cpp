#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "course/algorithms/crossing.hpp"
#include "course/algorithms/registry.hpp"
#include "course/algorithms/units.hpp"
#include "course/lab/mine.hpp"
#include "course/lab/options.hpp"
#include "course/lab/statistics.hpp"
#include "course/runtime/seeded.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::lab;

namespace {

/// The text of what `call` throws, or "" if it throws nothing.
template <class Call>
std::string refusal(const Call& call) {
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

Options parse(std::vector<std::string> words) {
    std::vector<char*> argv{const_cast<char*>("bench")};
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    std::string help;
    return parse_options(static_cast<int>(argv.size()), argv.data(), help);
}

}  // namespace

TEST_CASE("the median of an even number of values lies between the two in the middle") {
    CHECK(median({3.0, 1.0, 2.0}) == 2.0);
    CHECK(median({4.0, 1.0, 2.0, 3.0}) == 2.5);
    CHECK(median({5.0}) == 5.0);
    CHECK_THROWS_AS(median({}), std::invalid_argument);
}

TEST_CASE("the 95th percentile is interpolated") {
    std::vector<double> values(101);
    std::iota(values.begin(), values.end(), 0.0);
    CHECK(quantile(values, 0.95) == Approx(95.0));
    CHECK(quantile(values, 0.0) == 0.0);
    CHECK(quantile(values, 1.0) == 100.0);
    CHECK(quantile({1.0, 2.0}, 0.25) == Approx(1.25));
    CHECK_THROWS_AS(quantile(values, 1.5), std::invalid_argument);
}

TEST_CASE("the fit finds the alpha and beta that times were made of") {
    std::vector<Measurement> points;
    for (const double bytes : {1e3, 1e5, 1e7}) {
        points.push_back({static_cast<std::size_t>(bytes), 2e-6 + 2e-10 * bytes});
    }
    const Fit fit = fit_line(points);
    REQUIRE(fit.line);
    CHECK(fit.line->cost.alpha_s == Approx(2e-6));
    CHECK(fit.line->cost.beta_s_per_byte == Approx(2e-10));
    CHECK(fit.line->r2 == Approx(1.0));
    points[1].seconds *= 2;
    CHECK(fit_line(points).line->r2 < 0.99);
}

TEST_CASE("where there is no fit, it says which way the times went") {
    const auto why_none = [](const std::vector<Measurement>& points) {
        CHECK_FALSE(fit_line(points).line);
        return fit_line(points).why_none;
    };
    CHECK(why_none({{1000, 1e-6}, {1000, 2e-6}}) == "it takes two sizes");
    CHECK(why_none({{1000, 2e-6}, {100'000, 1e-6}}) == "the times fall while the sizes grow");
    CHECK(why_none({{1000, 1e-6}, {100'000, 1e-6}}) == "the times are the same for all sizes");
    CHECK(why_none({{1000, 1e-6}, {100'000, 2e-3}}) == "the times grow faster than the sizes");
}

TEST_CASE("sizes are read in KiB and MiB") {
    CHECK(in_words(4) == "4 B");
    CHECK(in_words(1000) == "1000 B");
    CHECK(in_words(65536) == "64 KiB");
    CHECK(in_words(std::size_t{85} << 20U) == "85 MiB");
    CHECK(in_words(std::size_t{1} << 30U) == "1 GiB");
}

TEST_CASE("a size is bytes, or a number with K, M or G for powers of 1024") {
    CHECK(parse_size("4") == 4);
    CHECK(parse_size("64K") == 65536);
    CHECK(parse_size("1M") == 1048576);
    CHECK(parse_size("85m") == 89128960);
    CHECK(parse_size("1G") == 1073741824);
}

TEST_CASE("a size that is none is refused in one line that says how to write one") {
    for (const char* text : {"", "x", "12Q", "-4", "1.5M"}) {
        INFO("size \"" << text << "\"");
        const std::string line = refusal([&] { parse_size(text); });
        CHECK(line.find("64K,1M,85M") != std::string::npos);
        CHECK(line.find('\n') == std::string::npos);
    }
    for (const char* text : {"0", "7", "8G"}) {
        INFO("size \"" << text << "\"");
        CHECK(refusal([&] { parse_size(text); }).find("multiple of 4") != std::string::npos);
    }
}

TEST_CASE("the command line gives sizes in ascending order, each once") {
    const Options options =
        parse({"--sizes", "1M,64K,1M", "--algorithms", "ring,mpi", "all_reduce", "--seed", "3"});
    CHECK(options.collective == "all_reduce");
    CHECK(options.sizes_bytes == std::vector<std::size_t>{65536, 1048576});
    CHECK(options.algorithms == std::vector<std::string>{"ring", "mpi"});
    CHECK(options.seed == 3);
}

TEST_CASE("a command line that makes no sense is refused") {
    CHECK_THROWS_AS(parse({}), UsageError);
    CHECK_THROWS_AS(parse({"all_reduce", "--sizes"}), UsageError);
    CHECK_THROWS_AS(parse({"all_reduce", "--budget", "0"}), UsageError);
    CHECK_THROWS_AS(parse({"all_reduce", "--nonsense"}), UsageError);
    CHECK_THROWS_AS(parse({"all_reduce", "--json", "--csv", "-"}), UsageError);
}

TEST_CASE("sizes that do not fit into memory are refused before anything is allocated") {
    CHECK(refusal([] { check_memory({4}, 2); }).empty());
    const std::string line = refusal([] { check_memory({4, std::size_t{1} << 50U}, 2); });
    CHECK(line.find("does not fit") != std::string::npos);
}

TEST_CASE("an unknown collective or algorithm is answered with those that exist") {
    CHECK(
        refusal([] { find_collective("all_reduc"); }) ==
        "no collective \"all_reduc\"; there are: all_reduce, broadcast, reduce, scatter, gather, "
        "all_gather, reduce_scatter, all_to_all, barrier"
    );
    const Collective& collective = find_collective("all_reduce");
    CHECK(
        refusal([&] {
            find_algorithms(collective, {"ring", "rign"});
        }) ==
        "no algorithm \"rign\" for all_reduce; there are: naive, ring, recursive_doubling, "
        "halving_doubling, tree, hierarchical, auto, shared, mpi, mine, tcp, gloo"
    );
}

TEST_CASE("the bench's help and the laboratory's page name every algorithm that the registry has") {
    std::string help;
    char* argv[] = {const_cast<char*>("bench"), const_cast<char*>("--help")};
    parse_options(2, argv, help);
    std::ifstream file(REPOSITORY "/notebooks_md/laboratory.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    for (const char* name :
         {"all_reduce", "broadcast", "reduce", "all_gather", "all_to_all", "barrier"}) {
        for (const Algorithm& algorithm : find_algorithms(find_collective(name), {})) {
            INFO(algorithm.name);
            CHECK(help.find(std::string(algorithm.what)) != std::string::npos);
            CHECK(page.find("`" + std::string(algorithm.name) + "`") != std::string::npos);
        }
    }
}

TEST_CASE("auto chooses from the algorithms of the cost model, in its order") {
    const auto candidates = candidates_of_auto(false);
    using enum AllReduceAlgorithm;
    REQUIRE(candidates.size() == 4);
    CHECK(candidates[static_cast<std::size_t>(naive)].name == "naive");
    CHECK(candidates[static_cast<std::size_t>(ring)].name == "ring");
    CHECK(candidates[static_cast<std::size_t>(recursive_doubling)].name == "recursive_doubling");
    CHECK(candidates[static_cast<std::size_t>(halving_doubling)].name == "halving_doubling");
    REQUIRE(candidates_of_auto(true).size() == 5);
    CHECK(candidates_of_auto(true)[4].name == "hierarchical");
}

TEST_CASE("algorithms come in the order asked for, each once") {
    const auto chosen = find_algorithms(find_collective("all_reduce"), {"mpi", "ring", "mpi"});
    REQUIRE(chosen.size() == 2);
    CHECK(chosen[0].name == "mpi");
    CHECK(chosen[1].name == "ring");
}

TEST_CASE("the bus factor of all_reduce is that of nccl-tests: 2(p-1)/p") {
    const Collective& collective = find_collective("all_reduce");
    CHECK(collective.bus_factor(1) == 0.0);
    CHECK(collective.bus_factor(2) == 1.0);
    CHECK(collective.bus_factor(4) == 1.5);
}

TEST_CASE("all_reduce's expected result is the sum of what the ranks put in") {
    std::vector<float> out(5);
    find_collective("all_reduce").expect(out, 3, 1, 42);
    for (std::size_t i = 0; i < out.size(); ++i) {
        float sum = 0.0F;
        for (int r = 0; r < 3; ++r) {
            sum += seeded_data(out.size(), r, 42)[i];
        }
        CHECK(out[i] == sum);
    }
}

TEST_CASE("broadcast's expected result is what the root put in, on every rank") {
    std::vector<float> out(5);
    find_collective("broadcast").expect(out, 3, 2, 42);
    CHECK(out == seeded_data(5, 0, 42));
    CHECK(find_collective("broadcast").bus_factor(1) == 0.0);
    CHECK(find_collective("broadcast").bus_factor(4) == 1.0);
}

TEST_CASE("without the student's library `mine` is left out, with the reason") {
    auto algorithms = find_algorithms(find_collective("all_reduce"), {});
    const std::string note = load_mine(algorithms, "", Communicator::borrow(MPI_COMM_NULL));
    CHECK(
        note ==
        "mine is left out: ./shardlings gives your code (--mine FILE) once its exercise passes"
    );
    CHECK(algorithms.size() == 11);
}

TEST_CASE("sizes may be a row: from, to, factor") {
    using Sizes = std::vector<std::size_t>;
    CHECK(
        parse({"all_reduce", "--from", "4K", "--to", "64K"}).sizes_bytes ==
        Sizes{4096, 8192, 16384, 32768, 65536}
    );
    CHECK(
        parse({"all_reduce", "--from", "4", "--to", "100", "--factor", "3"}).sizes_bytes ==
        Sizes{4, 12, 36}
    );
    CHECK(
        parse({"all_reduce", "--from", "10K", "--to", "20K", "--factor", "1.5"}).sizes_bytes ==
        Sizes{10240, 15360}
    );
    CHECK(refusal([] {
              parse({"all_reduce", "--from", "8K", "--to", "4K"});
          }).starts_with("--from 8192 --to 4096"));
    CHECK_FALSE(refusal([] { parse({"all_reduce", "--from", "8K"}); }).empty());
    CHECK_FALSE(refusal([] {
                    parse({"all_reduce", "--from", "4K", "--to", "8K", "--sizes", "1K"});
                }).empty());
    CHECK(refusal([] {
              parse({"all_reduce", "--format", "imb"});
          }).find("--format") != std::string::npos);
    CHECK(refusal([] {
              parse({"all_reduce", "--format", "osu", "--json"});
          }).starts_with("--format, --json"));
}

TEST_CASE("two exact times cross where their lines do, on logarithmic axes") {
    // 4 times as fast, then 4 times as slow: level in the middle of 1 and 4
    const auto at = crossover({{100, 1}, {10000, 16}}, {{100, 4}, {10000, 4}});
    REQUIRE(at.has_value());
    CHECK(at->x == Approx(1000));
    // what one wins back counts for nothing: the last change
    const auto twice =
        crossover({{1, 1}, {10, 4}, {100, 1}, {1000, 4}}, {{1, 2}, {10, 2}, {100, 2}, {1000, 2}});
    REQUIRE(twice.has_value());
    CHECK(twice->x > 100);
    CHECK_FALSE(crossover({{1, 4}, {2, 4}}, {{1, 1}, {2, 1}}).has_value());
    CHECK_FALSE(crossover({{1, 1}, {2, 1}}, {{1, 4}, {2, 4}}).has_value());
    CHECK_FALSE(crossover({{1, 1}}, {}).has_value());
}
