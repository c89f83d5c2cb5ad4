// trace as a command: what it draws, writes and says.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

Ended shardlings(const std::vector<std::string>& words) {
    std::vector<std::string> command = {SHARDLINGS_CLI};
    command.insert(command.end(), words.begin(), words.end());
    Context context;
    context.root = REPOSITORY;
    RunOptions options;
    options.environment = {{"SHARDLINGS_ROOT", REPOSITORY}};
    return run(context, command, options);
}

/// Sender, receiver and bytes of each message, in a certain order.
using Messages = std::multiset<std::tuple<int, int, int>>;

/// The page plays the messages that stand in the file with times, a ring's: each carries a chunk of data.
void expect_page_of(const nlohmann::json& times, const std::string& page) {
    const std::string mark = "id=\"data\">";
    const std::size_t begin = page.find(mark) + mark.size();
    const auto run =
        nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    Messages played;
    for (const auto& message : run.at("messages")) {
        played.emplace(message.at("src"), message.at("dst"), message.at("bytes"));
        CHECK(message.at("end") == message.at("begin").get<int>() + 1);
        CHECK(message.at("part").at("of") == 4 * message.at("bytes").get<int>());
        CHECK_FALSE(message.at("values").get<std::string>().empty());
    }
    Messages timed;
    for (const auto& event : times.at("traceEvents")) {
        int bytes = 0;
        int dst = 0;
        if (event.at("ph") == "X" && std::sscanf(
                                         event.at("name").get<std::string>().c_str(),
                                         "send %d bytes to rank %d", &bytes, &dst
                                     ) == 2) {
            timed.emplace(event.at("pid"), dst, bytes);
        }
    }
    CHECK(played == timed);
    CHECK(run.at("memory").at(0).at("name") == "data");
    CHECK(run.at("memory").at(0).at("cuts").size() == 5);  // of four chunks
    CHECK(has(page, "<svg"));
}

const fs::path kMutants = "tests/mutants";
const fs::path kSolutions = "solutions";

}  // namespace

TEST_CASE("trace draws a right run, and writes a picture and a file for Perfetto") {
    const fs::path folder = fs::temp_directory_path() / "shardlings_trace_test";
    fs::remove_all(folder);
    const Ended ended = shardlings(
        {"trace", "ring_all_reduce", "--as", kSolutions / "03_ring_and_tree/ring_all_reduce.cpp",
         "--html", "--out", folder}
    );
    INFO(ended.output);
    CHECK(ended.status == 0);
    CHECK(has(ended.output, "pass on 4 ranks"));
    CHECK(has(ended.output, "ring_reduce_scatter   ring_all_reduce.cpp:"));
    CHECK(has(ended.output, "ring_all_gather   ring_all_reduce.cpp:"));
    CHECK(has(ended.output, "round 6"));
    CHECK_FALSE(has(ended.output, "round 7"));
    CHECK(has(read_text(folder / "ring_all_reduce.svg"), "24 messages, 6 rounds"));
    const auto document = nlohmann::json::parse(read_text(folder / "ring_all_reduce.json"));
    CHECK(std::ranges::count(document.at("traceEvents"), "f", [](const auto& event) {
              return event.at("ph").template get<std::string>();
          }) == 24);
    expect_page_of(document, read_text(folder / "ring_all_reduce.html"));
    fs::remove_all(folder);
}

TEST_CASE("trace shows who waits for whom in a run that hangs") {
    const Ended ended = shardlings(
        {"trace", "ring_shift", "--as", kMutants / "01_point_to_point/ring_shift.toml:send_first",
         "--text"}
    );
    INFO(ended.output);
    CHECK(ended.status == 0);
    CHECK(has(ended.output, "hang on 4 ranks"));
    CHECK(has(ended.output, "x: nobody took it"));
    CHECK(has(ended.output, "rank 3  waits in MPI_Send(to rank 0"));
}

TEST_CASE("a check of traffic that fails shows the messages, in at most 20 lines") {
    const Ended ended = shardlings(
        {"run", "ring_all_reduce", "--as",
         kMutants / "03_ring_and_tree/ring_all_reduce.toml:one_at_a_time", "--test", "busy"}
    );
    INFO(ended.output);
    CHECK(ended.status == 1);
    const std::size_t begin = ended.output.find("rank 0         rank 1");
    const std::size_t end = ended.output.find("numbers: floats");
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    CHECK(std::ranges::count(ended.output.substr(begin, end - begin), '\n') < 20);
    CHECK(has(ended.output, "round 13          |------2------>|              :              :"));
    CHECK(has(ended.output, "rounds are right"));
}

TEST_CASE("a message that was taken is drawn so, also where the checks of who took it hold") {
    const Ended ended = shardlings(
        {"run", "broadcast", "--as", kMutants / "02_naive_collectives/broadcast/heap_of_places.cpp",
         "--test", "one message"}
    );
    INFO(ended.output);
    CHECK(has(ended.output, "|!!!!!!!!!!!!!7!!!!!!!!!!!!!!>|"));
    CHECK_FALSE(has(ended.output, "nobody took"));
}

TEST_CASE(
    "trace says once with whom a rank exchanged messages, and writes a text's files where --out "
    "says"
) {
    const fs::path folder = fs::temp_directory_path() / "shardlings_trace_text_test";
    fs::remove_all(folder);
    const Ended ended = shardlings(
        {"trace", "ring_all_reduce", "--as",
         kMutants / "03_ring_and_tree/ring_all_reduce.toml:naive_through_root", "--text", "--out",
         folder}
    );
    INFO(ended.output);
    const std::string words = "it exchanged messages with";
    const std::size_t first = ended.output.find(words);
    REQUIRE(first != std::string::npos);
    CHECK(ended.output.find(words, first + 1) == std::string::npos);
    CHECK(has(read_text(folder / "ring_all_reduce.svg"), ">rank 0: it exchanged messages with"));
    fs::remove_all(folder);

    const Ended both = shardlings({"trace", "train", "--out", "a", "--trace", "b"});
    CHECK(both.status == 2);
    CHECK(has(both.output, "--out and --trace both name the folder"));
}

TEST_CASE("trace says why there is nothing to draw") {
    const Ended silent = shardlings(
        {"trace", "chunk_bounds", "--as", kSolutions / "01_point_to_point/chunk_bounds.cpp"}
    );
    CHECK(silent.status == 1);
    CHECK(has(silent.output, "there is nothing to draw"));
    CHECK(shardlings({"trace", "ring_shiift"}).status == 2);
    CHECK(shardlings({"trace", "ring_shift", "-n", "0"}).status == 2);
}
