// prove where an exercise is a function of states and events: every order of events, without SimGrid.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/prove/walks.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"
#include "tests/harness/walk/walk.hpp"

using namespace dist::cli;
namespace fs = std::filesystem;

namespace {

/// A counter that somebody counts up by one or two, to five at the most; it must not be 4 and sad at a time.
struct Counter {
    struct State {
        int value = 0;
        bool sad = false;
    };
    int most = 5;
    int stuck_at = -1;
    int throws_at = -1;

    [[nodiscard]] static State begun() { return {}; }
    [[nodiscard]] std::vector<int> events(const State& state) const {
        std::vector<int> all;
        for (const int step : {0, 1, 2}) {
            if (state.value + step <= most) {
                all.push_back(step);
            }
        }
        return all;
    }
    [[nodiscard]] dist::harness::Verdict happens(State& state, int step) const {
        state.value += step;
        state.sad = state.sad || step == 0;
        if (state.value == throws_at) {
            throw std::runtime_error("no such value");
        }
        if (state.value == 4 && state.sad) {
            return dist::harness::Broken{"nobody is sad at 4", "it is"};
        }
        return {};
    }
    [[nodiscard]] dist::harness::Verdict judge(const State& state) const {
        if (state.value == stuck_at) {
            return dist::harness::Broken{"it goes on", "it stands still"};
        }
        return {};
    }
    [[nodiscard]] static std::string key(const State& state) {
        return std::to_string(state.value) + (state.sad ? "s" : "");
    }
    [[nodiscard]] static std::string text(const State& /*state*/, int step) {
        return "by " + std::to_string(step);
    }
};

using Way = std::vector<std::string>;

Ended prove(
    const std::string& name, const std::string& file, const std::vector<std::string>& more
) {
    Context context;
    context.root = REPOSITORY;
    std::vector<std::string> command = {
        SHARDLINGS_CLI, "prove", name, "--as", (fs::path(REPOSITORY) / file).string()};
    command.insert(command.end(), more.begin(), more.end());
    RunOptions options;
    options.environment = {{"SHARDLINGS_ROOT", REPOSITORY}};
    return run(context, command, options);
}

}  // namespace

TEST_CASE("a walk finds all states, and each of them once") {
    const auto walked = dist::harness::walk(Counter{.most = 3});
    CHECK(!walked.broken);
    CHECK(walked.is_whole);
    CHECK(walked.states == 8);
    dist::harness::WalkLimits deep;
    deep.goes_deep = true;
    CHECK(dist::harness::walk(Counter{.most = 3}, deep).states == 8);
}

TEST_CASE("a walk tells a shortest way to what breaks") {
    const auto walked = dist::harness::walk(Counter{});
    REQUIRE(walked.broken);
    CHECK(walked.broken->invariant == "nobody is sad at 4");
    CHECK(walked.way == Way{"by 0", "by 2", "by 2"});
    const auto stuck = dist::harness::walk(Counter{.stuck_at = 3});
    REQUIRE(stuck.broken);
    CHECK(stuck.broken->how == "it stands still");
    CHECK(stuck.way == Way{"by 1", "by 2"});
    const auto thrown = dist::harness::walk(Counter{.throws_at = 2});
    REQUIRE(thrown.broken);
    CHECK(thrown.broken->how == "no such value");
    CHECK(thrown.way == Way{"by 2"});
}

TEST_CASE("a walk that is ended early is not whole") {
    dist::harness::WalkLimits limits;
    limits.states = 3;
    const auto walked = dist::harness::walk(Counter{.most = 3}, limits);
    CHECK(!walked.is_whole);
    CHECK(!walked.broken);
    CHECK(walked.states < 8);
}

TEST_CASE("what a walk says is read, told and written") {
    const WalkProof proof = read_walks(
        "{\"known\":500}\nthe answer prints this\n"
        "{\"walk\":\"two nodes\",\"states\":700,\"whole\":true,\"seconds\":0.5}\n"
        "{\"walk\":\"three nodes\",\"states\":43,\"whole\":true,\"seconds\":0.1}\n"
    );
    CHECK(proof.is_proof());
    CHECK(proof.states == 743);
    CHECK(has(text_of(proof), "      700 states  two nodes\n"));
    CHECK(has(text_of(proof), "no order of events breaks an invariant: 743 states, "));
    const WalkProof cut =
        read_walks("{\"walk\":\"two nodes\",\"states\":700,\"whole\":false,\"seconds\":0.5}\n");
    CHECK(!cut.is_proof());
    CHECK(has(text_of(cut), "no proof: it reached the limit of states (--states). Not all orders"));
    const WalkProof wrong = read_walks(
        "{\"walk\":\"two nodes\",\"states\":9,\"whole\":true,\"seconds\":0.5,\"invariant\":\"no "
        "member "
        "waits\",\"how\":\"a does\",\"events\":[\"a comes\",\"b comes\"]}\n"
    );
    CHECK(!wrong.is_proof());
    CHECK(has(text_of(wrong), "broken: no member waits\n  a does\n"));
    CHECK(has(text_of(wrong), "  1. a comes\n  2. b comes\n"));
    const auto document = nlohmann::json::parse(json_of(wrong, "rendezvous"));
    CHECK(document["proved"] == false);
    CHECK(document["wrong"]["invariant"] == "no member waits");
    CHECK(document["wrong"]["events"].size() == 2);
    CHECK(!WalkProof().is_proof());
    CHECK_THROWS_AS(read_walks("{\"not_started\":\"decide\"}\n"), CommandError);
}

TEST_CASE("references that are functions of events are proved", "[walks]") {
    struct Claim {
        std::string name;
        std::string file;
        std::string walk;
    };
    const std::vector<Claim> claims = {
        {"rendezvous", "solutions/04_groups_and_rendezvous/rendezvous.cpp", "two nodes"},
        {"elastic_agent", "solutions/10_elastic/elastic_agent.cpp", "no restart: all live"},
        {"remote_reference", "solutions/09_rpc/remote_reference.cpp",
         "the owner gives a user a use"}};
    for (const auto& [name, file, walk] : claims) {
        const Ended ended = prove(name, file, {"--test", walk});
        INFO(ended.output);
        CHECK(ended.status == 0);
        CHECK(has(ended.output, walk));
        CHECK(has(ended.output, "no order of events breaks an invariant: "));
    }
}

TEST_CASE(
    "wrong answers break an invariant, which is named, with a shortest way there", "[walks]"
) {
    struct Wrong {
        std::string name;
        std::string file;
        std::string walk;
        std::string invariant;
        std::size_t events;
        std::string last;
    };
    const std::vector<Wrong> all = {
        {"rendezvous", "tests/course/prove/changed.toml:the_dead_move_on", "two nodes",
         "a dead node is in no later round", 9, "a asks for another round"},
        {"rendezvous", "tests/mutants/04_groups_and_rendezvous/rendezvous.toml:opens_again",
         "two nodes", "a closed rendezvous stays closed, and completes no round", 5,
         "a comes, and looks"},
        {"rendezvous", "tests/mutants/04_groups_and_rendezvous/rendezvous.toml:late_joins",
         "two nodes", "from every state all come to a round, or to an end", 2, "a dies"},
        {"elastic_agent", "tests/course/prove/changed.toml:asks_at_once", "three nodes",
         "no worker of an older round lives in a new one", 9, "round 2 is complete: a and b"},
        {"elastic_agent", "tests/mutants/10_elastic/elastic_agent.toml:a_change_costs",
         "three nodes", "a failure costs one restart, and a change of members none", 6,
         "a asks whether its round holds"},
        {"remote_reference", "tests/mutants/09_rpc/remote_reference.toml:delete_is_sent_once", "",
         "when nobody uses it any more, nothing is kept", 5,
         "USER_DELETE from rank 1 to rank 0 is lost"},
        {"remote_reference", "tests/mutants/09_rpc/remote_reference.toml:parent_ends_first", "",
         "nothing is freed while it is used, and nothing begins before it is known", 6,
         "USER_DELETE from rank 1 comes to rank 0"}};
    for (const auto& [name, file, walk, invariant, events, last] : all) {
        const Ended ended = prove(name, file, {"--test", walk, "--json"});
        INFO(ended.output);
        CHECK(ended.status == 1);
        const auto document =
            nlohmann::json::parse(ended.output.substr(ended.output.find("{\n")), nullptr, false);
        REQUIRE(document.is_object());
        CHECK(document["proved"] == false);
        const auto& wrong = document["wrong"];
        REQUIRE(wrong.is_object());
        CHECK(wrong["invariant"] == invariant);
        CHECK(wrong["events"].size() == events);
        CHECK(wrong["events"].back() == last);
    }
}

TEST_CASE("a bound makes a walk no proof, and it has no ranks and no replay", "[walks]") {
    const std::string file = "solutions/10_elastic/elastic_agent.cpp";
    const Ended ended = prove("elastic_agent", file, {"--states", "100"});
    INFO(ended.output);
    CHECK(ended.status == 1);
    CHECK(has(ended.output, "no proof: it reached the limit of states (--states). Not all orders"));
    CHECK(prove("elastic_agent", file, {"--test", "no such walk"}).status == 1);
    CHECK(prove("elastic_agent", file, {"-n", "3"}).status == 2);
    CHECK(prove("elastic_agent", file, {"--replay", "1:1"}).status == 2);
    const Ended stub = prove("elastic_agent", "exercises/10_elastic/elastic_agent.cpp", {});
    INFO(stub.output);
    CHECK(stub.status == 1);
    CHECK(has(stub.output, "is not implemented yet"));
}
