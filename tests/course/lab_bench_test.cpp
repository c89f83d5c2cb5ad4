// The program itself, on two ranks, as the command starts it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "course/process/mpirun.hpp"
#include "course/process/session_folder.hpp"
#include "course/process/subprocess.hpp"
#include "tests/harness/catch2.hpp"

namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone at the end.
struct Folder {
    fs::path path = fs::temp_directory_path() / fmt::format("lab_bench_test.{}", getpid());

    Folder() { fs::create_directory(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    Folder(Folder&&) = delete;
    Folder& operator=(Folder&&) = delete;
    ~Folder() { fs::remove_all(path); }
};

std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

struct Outcome {
    int status = -1;
    std::string out;
    std::string err;

    /// The bench's own lines on standard error: mpirun adds some when a program fails.
    [[nodiscard]] std::string complaint() const {
        std::string lines;
        std::istringstream in(err);
        for (std::string line; std::getline(in, line);) {
            lines += line.starts_with("bench: ") ? line + "\n" : "";
        }
        return lines;
    }
};

Outcome on_ranks(
    int ranks, const std::string& program, const std::string& arguments, const Folder& folder
) {
    using namespace dist::cli;
    const fs::path out = folder.path / "out";
    const fs::path err = folder.path / "err";
    std::vector<std::string> words = mpirun(ranks, Purpose::work);
    words.push_back(program);
    Environment environment = mpi_environment(ranks, Purpose::work);
    const SessionFolder session;
    session.add_to(environment);
    const std::string command = shell_line(words, environment);
    const int ended = std::system(
        fmt::format("{} {} > {} 2> {}", command, arguments, out.string(), err.string()).c_str()
    );
    Outcome outcome{WEXITSTATUS(ended), text_of(out), text_of(err)};
    fs::remove(out);
    fs::remove(err);
    return outcome;
}

Outcome bench(const Folder& folder, const std::string& arguments) {
    return on_ranks(2, BENCH, arguments, folder);
}

}  // namespace

TEST_CASE("bench --json prints one document, with nothing wrong in it") {
    const Folder folder;
    const Outcome run = bench(folder, "all_reduce --sizes 4,20,64K --iterations 3 --json");
    INFO(run.err);
    REQUIRE(run.status == 0);
    const auto document = nlohmann::json::parse(run.out);
    CHECK(document["ranks"] == 2);
    const std::size_t rows = document["points"].size() / 3;  // with gloo where it is
    REQUIRE(document["points"].size() == 3 * rows);
    REQUIRE(rows >= 8);
    for (const auto& point : document["points"]) {
        INFO(point);
        CHECK(point["wrong"] == 0);
        CHECK(point["run"] == 3);
        CHECK(point["clean"].get<int>() <= 3);
        CHECK(point["time_us"].get<double>() > 0.0);
        CHECK(point["bound_us"].get<double>() > 0.0);
    }
    CHECK(document["points"][rows + 1]["algorithm"] == "ring");
    CHECK(document["points"][rows + 1]["count"] == 5);
    const std::set<std::string> candidates{
        "naive", "ring", "recursive_doubling", "halving_doubling"};
    REQUIRE(document["choices"].size() == 3);
    for (const auto& point : document["points"]) {
        CHECK(point["chose"].is_string() == (point["algorithm"] == "auto"));
    }
    for (const auto& choice : document["choices"]) {
        CHECK(candidates.contains(choice["chose"].get<std::string>()));
        CHECK(candidates.contains(choice["by_model"].get<std::string>()));
        CHECK(choice["model_over_best"].get<double>() >= 1.0);
    }
}

TEST_CASE("bench --ranks measures on each number of ranks, in one set of processes") {
    const Folder folder;
    const fs::path csv = folder.path / "t.csv";
    const Outcome run = bench(
        folder, fmt::format(
                    "all_reduce --ranks 2,1 --sizes 4K,64K --iterations 2 --algorithms naive,ring "
                    "--json --csv {}",
                    csv.string()
                )
    );
    INFO(run.err);
    REQUIRE(run.status == 0);
    const auto document = nlohmann::json::parse(run.out);
    REQUIRE(document["runs"].size() == 2);
    CHECK(document["runs"][0]["ranks"] == 1);
    CHECK(document["runs"][1]["ranks"] == 2);
    CHECK(document["runs"][0]["machine"]["bound_to_cores"] == true);  // whatever the launcher did
    for (const auto& one : document["runs"]) {
        REQUIRE(one["points"].size() == 4);
        for (const auto& point : one["points"]) {
            CHECK(point["wrong"] == 0);
        }
    }
    CHECK(document["verdicts"].size() == 2);
    const std::string rows = text_of(csv);
    CHECK(std::count(rows.begin(), rows.end(), '\n') == 9);
    CHECK(rows.ends_with(",2\n"));
}

TEST_CASE("Gloo's all-reduce is a row like the others, or left out with the line that installs it"
) {
    const Folder folder;
    const Outcome run =
        bench(folder, "all_reduce --sizes 4,20,1M --iterations 2 --algorithms ring,gloo --json");
    INFO(run.err);
    REQUIRE(run.status == 0);
    const auto document = nlohmann::json::parse(run.out);
    if (document["points"].size() == 3) {
        CHECK(document["notes"].dump().find("apt-get install libgloo-dev") != std::string::npos);
        WARN("Gloo is not installed: its row was not tried");
        return;
    }
    REQUIRE(document["points"].size() == 6);
    for (const std::size_t i : {1U, 3U, 5U}) {
        const auto& point = document["points"][i];
        INFO(point);
        CHECK(point["algorithm"] == "gloo");
        CHECK(point["wrong"] == 0);
        CHECK(point["run"] == 2);
    }
}

TEST_CASE("bench broadcast: every algorithm brings the root's data") {
    const Folder folder;
    const Outcome run = bench(folder, "broadcast --sizes 4,64K,1M --iterations 2 --json");
    INFO(run.err);
    REQUIRE(run.status == 0);
    const auto document = nlohmann::json::parse(run.out);
    REQUIRE(document["points"].size() == 12);
    for (const auto& point : document["points"]) {
        CHECK(point["wrong"] == 0);
    }
}

TEST_CASE("every algorithm of the other collectives leaves what it should, of any length") {
    const Folder folder;
    for (const char* const collective :
         {"reduce", "scatter", "gather", "all_gather", "reduce_scatter", "all_to_all", "barrier"}) {
        const Outcome run =
            bench(folder, collective + std::string(" --sizes 4,20,64K --iterations 2 --json"));
        INFO(collective << run.err);
        REQUIRE(run.status == 0);
        const auto document = nlohmann::json::parse(run.out);
        CHECK(document["points"].size() >= 2);
        for (const auto& point : document["points"]) {
            INFO(point);
            CHECK(point["wrong"] == 0);
            CHECK(point["run"] == 2);
        }
    }
}

TEST_CASE("bench writes CSV and an SVG plot, and leaves no temporary file") {
    const Folder folder;
    const std::string plot = std::system("gnuplot --version > /dev/null 2>&1") == 0
                                 ? "--svg " + (folder.path / "t.svg").string()
                                 : "";
    const Outcome run = bench(
        folder, fmt::format(
                    "all_reduce --sizes 4K,64K --iterations 2 --csv {} {}",
                    (folder.path / "t.csv").string(), plot
                )
    );
    INFO(run.err);
    REQUIRE(run.status == 0);
    CHECK(run.out.find("size(B)") != std::string::npos);
    CHECK(text_of(folder.path / "t.csv").starts_with("size_bytes,count,"));
    if (plot.empty()) {
        WARN("gnuplot is not installed: the plot was not tried");
    } else {
        CHECK(text_of(folder.path / "t.svg").find("<svg") != std::string::npos);
    }
    const auto files = std::distance(fs::directory_iterator(folder.path), fs::directory_iterator());
    CHECK(files == (plot.empty() ? 1 : 2));
}

TEST_CASE("what cannot be written is an error of one line that names the file") {
    const Folder folder;
    if (!fs::exists("/dev/full")) {
        return;
    }
    for (const char* option : {"--answer", "--csv", "--raw"}) {
        const Outcome run =
            bench(folder, fmt::format("all_reduce --sizes 4 --iterations 1 {} /dev/full", option));
        INFO(run.err);
        CHECK(run.status == 1);
        CHECK(run.complaint().starts_with("bench: cannot write /dev/full"));
        CHECK(run.complaint().ends_with("No space left on device\n"));
    }
}

TEST_CASE("bad arguments are answered by one line, once, and status 2") {
    const Folder folder;
    const std::string file = (folder.path / "absent" / "t.csv").string();
    const std::pair<std::string, std::string> cases[] = {
        {"all_together",
         "no collective \"all_together\"; there are: all_reduce, broadcast, reduce, scatter, "
         "gather, "
         "all_gather, reduce_scatter, all_to_all, barrier"},
        {"all_reduce --algorithms ring,best", "no algorithm \"best\" for all_reduce"},
        {"all_reduce --sizes 64X", "\"64X\" is no size"},
        {"all_reduce --sizes 4 --csv " + file, "cannot write " + file},
        {"all_reduce --sizes 4 --algorithms mine", "nothing to measure: mine is left out"},
        {"all_reduce --sizes 4 --ranks 1,3",
         "--ranks 3: this job has 2; start it with mpirun -n 3"},
        {"all_reduce --sizes 4 --ranks 1,2 --algorithms best", "no algorithm \"best\""},
    };
    for (const auto& [arguments, sentence] : cases) {
        const Outcome run = bench(folder, arguments);
        INFO(arguments << "\n" << run.err);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        const std::string complaint = run.complaint();
        CHECK(complaint.starts_with("bench: " + sentence));
        CHECK(std::count(complaint.begin(), complaint.end(), '\n') == 1);
    }
}

TEST_CASE("raw samples hold every timed call, and formats of others come from the same run") {
    const Folder folder;
    const fs::path raw = folder.path / "raw.csv";
    const Outcome run = bench(
        folder, fmt::format(
                    "all_reduce --sizes 4,64K --iterations 30 --algorithms naive,mpi --format nccl "
                    "--raw {}",
                    raw.string()
                )
    );
    INFO(run.err);
    REQUIRE(run.status == 0);
    CHECK(run.out.find("# naive of all_reduce on 2 ranks") != std::string::npos);
    CHECK(run.out.find("# Out of bounds values : 0 OK") != std::string::npos);
    const std::string calls = text_of(raw);
    CHECK(std::count(calls.begin(), calls.end(), '\n') == 1 + 2 * 2 * 30);
}

TEST_CASE("three calls settle nothing, and decide nothing: it is said of each") {
    const Folder folder;
    const Outcome run =
        bench(folder, "all_reduce --sizes 4,1M --algorithms naive,ring --iterations 3 --json");
    INFO(run.err);
    REQUIRE(run.status == 0);
    const auto document = nlohmann::json::parse(run.out);
    REQUIRE(document["points"].size() == 4);
    for (const auto& point : document["points"]) {
        CHECK(point["unsettled"].is_string());
    }
    CHECK(document["verdict"]["in_words"] == "undecided at every size measured");
}

TEST_CASE("where the times have not settled, the bench goes on to the limit") {
    // 1 ms cut into 20 blocks: a round takes longer than each, and 8 of these as long as the limit
    const Folder folder;
    const Outcome run =
        bench(folder, "all_reduce --sizes 16M --algorithms naive --budget 0.001 --limit 20 --json");
    INFO(run.err);
    REQUIRE(run.status == 0);
    CHECK(nlohmann::json::parse(run.out)["points"][0]["run"].get<int>() >= 8);
}

TEST_CASE("every reduction does every operation, and says which") {
    const Folder folder;
    const std::pair<std::string, std::string> names[] = {
        {"sum", "sum"}, {"mean", "avg"}, {"product", "prod"}, {"min", "min"}, {"max", "max"}};
    for (const char* const collective : {"all_reduce", "reduce", "reduce_scatter"}) {
        for (const auto& [op, redop] : names) {
            const Outcome run = bench(
                folder,
                fmt::format("{} --op {} --sizes 20,4K --iterations 1 --json", collective, op)
            );
            INFO(collective << " " << op << run.err);
            REQUIRE(run.status == 0);
            const auto document = nlohmann::json::parse(run.out);
            for (const auto& point : document["points"]) {
                INFO(point);
                CHECK(point["wrong"] == 0);
                CHECK(point["redop"] == redop);
            }
        }
    }
}

TEST_CASE("ranks that share cores are arranged anew by each draw") {
    const Folder folder;
    for (const int ranks : {2, 3, 4}) {
        INFO("ranks: " << ranks);
        const Outcome run = on_ranks(ranks, PLACEMENTS, "", folder);
        INFO(run.out << run.err);
        if (run.status == 77) {
            WARN("skipped: there is one core only");
            return;
        }
        CHECK(run.status == 0);
    }
}
