// What a rank of each mesh sends and holds in a step of the trainer's GPT, to the byte. Times are never looked at.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

namespace {

constexpr long kFloat = 4;  // bytes

// 4 layers of width 16, 4 heads, context 16, 256 words; 16 windows a step
nlohmann::json measured_on_meshes(const std::string& options) {
    const Run run =
        run_program(BENCH_MESH, 4, "--width 16 --context 16 --rounds 1 --json " + options);
    INFO(run.output);
    REQUIRE(run.status == 0);
    return nlohmann::json::parse(run.output);
}

/// What was measured on each rank of a mesh.
std::vector<long> on_ranks(
    const nlohmann::json& document, const std::string& mesh, const std::string& counted
) {
    for (const auto& one : document.at("meshes")) {
        if (one.at("mesh") == mesh) {
            std::vector<long> bytes;
            for (const auto& rank : one.at("by_rank")) {
                bytes.push_back(rank.at("measured").at(counted).get<long>());
            }
            return bytes;
        }
    }
    FAIL("no " << mesh);
    return {};
}

/// Whatever --pipeline is: all but activations.
void check_exact(const nlohmann::json& mesh) {
    for (const auto& rank : mesh.at("by_rank")) {
        auto measured = rank.at("measured");
        auto formula = rank.at("formula");
        INFO(mesh.at("mesh") << ": measured " << measured.dump() << ", formula " << formula.dump());
        CHECK(measured.at("activations").get<long>() >= formula.at("activations").get<long>());
        measured.erase("activations");
        formula.erase("activations");
        CHECK(measured == formula);
    }
}

}  // namespace

TEST_CASE("each rank of every mesh of 4 sends and holds what formulas say, to the byte", "[mesh]") {
    for (const char* const options :
         {"",
          "--micro-batches 4 --sequence-parallel --optimizer adamw --mesh tp=4 pp=2,tp=2 cp=2,tp=2",
          "--micro-batches 2 --zero 1 --mesh dp=4 dp=2,pp=2 cp=2,tp=2",
          "--micro-batches 2 --zero 2 --optimizer adamw --mesh dp=4 dp=2,cp=2 dp=2,tp=2",
          "--micro-batches 1 --zero 3 --mesh dp=4 cp=4 dp=2,tp=2",
          "--micro-batches 4 --pipeline gpipe --mesh pp=2,tp=2",
          "--micro-batches 4 --pipeline interleaved --mesh dp=2,pp=2"}) {
        CAPTURE(options);
        const auto document = measured_on_meshes(options);
        if (!contains(options, "--mesh")) {
            CHECK(document.at("meshes").size() == 10);  // four of one dimension, six of two
        }
        CHECK(document.at("left_out").empty());
        for (const auto& mesh : document.at("meshes")) {
            check_exact(mesh);
        }
    }
}

TEST_CASE("what ranks send and hold is what one works out by hand", "[mesh]") {
    const auto document = measured_on_meshes("--mesh dp=4 pp=4 cp=4 tp=4 pp=2,tp=2");
    using Bytes = std::vector<long>;
    const auto check = [&](const char* mesh, const char* counted, const Bytes& wanted) {
        INFO(mesh << ", " << counted);
        CHECK(on_ranks(document, mesh, counted) == wanted);
    };
    // parameters: (2 * 256 + 16) 16 + 4 (12 * 16^2 + 13 * 16) + 2 * 16
    const long all = kFloat * 21'600;
    for (const char* const kind : {"parameters", "gradients", "optimizer"}) {
        check("dp=4", kind, Bytes(4, all));
        check("cp=4", kind, Bytes(4, all));
        // a quarter of weights and cut biases; embedding of places, norms and other biases whole
        check("tp=4", kind, Bytes(4, kFloat * 5'904));
        // a block each; the first has two tables as well, the last norm and head
        check("pp=4", kind, {kFloat * 7'632, kFloat * 3'280, kFloat * 3'280, kFloat * 7'408});
    }
    for (const char* const mesh : {"dp=4", "cp=4"}) {
        check(mesh, "dp", Bytes(4, 6 * all / 4));
    }
    // 4 micro-batches of 4 windows: outputs of 4 x 16 x 16 floats, and their gradients
    const long output = kFloat * 4 * 16 * 16;
    check("pp=4", "pp", {4 * output, 8 * output, 8 * output, 4 * output});
    // both ranks of a stage send all that lies between two stages: 2 micro-batches of 8 windows
    check("pp=2,tp=2", "pp", Bytes(4, 2 * kFloat * 8 * 16 * 16));
    // 10 rotations of keys and values of 16 windows and 4 tokens, in each of 4 blocks
    check("cp=4", "cp", Bytes(4, 10 * kFloat * 4 * 2 * 16 * 4 * 16));
    // 18 all-reduces of 16 x 16 x 16 floats; three of a number for each token, and one of two
    check("tp=4", "tp", Bytes(4, 6 * kFloat / 4 * (18L * 16 * 16 * 16 + 5L * 16 * 16)));
    for (const char* const mesh : {"tp=4", "pp=4"}) {
        check(mesh, "dp", Bytes(4, 0));
    }
}

// The difference to the formula, what a layer needs while it computes, is the same whatever m is:
// what comes with one more micro-batch is what autograd keeps of it.
TEST_CASE("stage s of 4 keeps the activations of min(4 - s, m) micro-batches", "[mesh]") {
    const auto [mesh, blocks, cut] =
        GENERATE(std::tuple{"pp=4", 1L, 1L}, std::tuple{"pp=2,tp=2", 2L, 2L});
    // of a window of 16 tokens: four tensors that tp does not cut and 13 that it does, of 16 floats
    // a token; four numbers of two norms, and two for each of 4 heads
    const long block = kFloat * 16 * (4L * 16 + 13L * 16 / cut + 4L + 2L * 4 / cut);
    const long words = 16L * (8 + 1);
    const long in_batch = 16L * 2 * 8;  // of each window: inputs and targets
    const long message = kFloat * 16 * 16;
    const int stages = mesh == std::string("pp=4") ? 4 : 2;
    std::vector<long> before;
    for (int m = 1; m <= stages + 1; ++m) {
        std::string options = std::string("--mesh ") + mesh;
        for (const char* const of_m : {" --batch ", " --micro-batches "}) {
            options.append(of_m).append(std::to_string(m));
        }
        const auto document = measured_on_meshes(options);
        const std::vector<long> now = on_ranks(document, mesh, "activations");
        for (std::size_t rank = 0; m > 1 && rank < now.size(); ++rank) {
            const int stage = static_cast<int>(rank) * stages / 4;
            const long kept = blocks * block + (stage == 0 ? words : 0);
            const long loss = stage == stages - 1 ? 4 : 0;  // stays until the step ends
            INFO(mesh << ", m = " << m << ", rank " << rank << " of stage " << stage);
            const bool is_kept = m <= stages - stage;
            // the first that is not kept arrives while another goes back
            const bool arrives = m == stages - stage + 1 && stage > 0;
            CHECK(
                now[rank] - before[rank] ==
                (is_kept ? kept : 0) + (arrives ? message : 0) + in_batch + loss
            );
        }
        before = now;
    }
}

TEST_CASE("bench mesh prints its tables, and writes CSV", "[mesh]") {
    const TemporaryFolder folder;
    const auto csv = folder.path() / "mesh.csv";
    const Run run = run_program(
        BENCH_MESH, 2, "--layers 2 --width 16 --batch 4 --rounds 1 --csv " + csv.string()
    );
    INFO(run.output);
    REQUIRE(run.status == 0);
    CHECK(contains(run.output, "a GPT of 2 layers of width 16, 4 heads, context 64, on 2 ranks"));
    CHECK(contains(run.output, "ms   over dp=2   waits %   bubble %"));
    CHECK(contains(run.output, "33.3\n"));  // of two stages and two micro-batches
    for (const char* const mesh : {"\ndp=2 ", "\npp=2 ", "\ncp=2 ", "\ntp=2 "}) {
        CHECK(contains(run.output, mesh));
    }
    const std::string table = read_file(csv);
    CHECK(table.starts_with("mesh,micro_batches,step_s,waiting,formula_bubble,dp_bytes,dp_formula_")
    );
    CHECK(std::ranges::count(table, '\n') == 5);
}

TEST_CASE(
    "bench mesh leaves out what cannot be cut, and refuses the rest in one line", "[refusal]"
) {
    const Run help = run_program(BENCH_MESH, 1, "--help");
    CHECK(help.status == 0);
    CHECK(contains(help.output, "./shardlings bench mesh -n 4 --width 256"));
    const auto document =
        measured_on_meshes("--layers 2 --heads 2 --batch 2 --mesh dp=4 tp=4 pp=4 cp=4");
    CHECK(
        document.at("left_out") ==
        std::vector<std::string>{
            "dp=4: --mesh dp=4 does not divide --batch 2",
            "tp=4: --mesh tp=4 does not divide --heads 2",
            "pp=4: --mesh pp=4: the number of stages, 4 does not divide --layers 2"}
    );
    for (const auto& [options, reason] : std::vector<std::pair<std::string, std::string>>{
             {"--mesh dp=2,xp=2", "--mesh: "},
             {"--mesh dp=4", "--mesh dp=4 has 4 ranks, and here are 2"},
             {"--mesh tp=2 --heads 1", "no mesh is left: tp=2: --mesh tp=2 does not divide"},
             {"--mesh ep=2", "no mesh is left: ep=2: --mesh ep=2 goes with --experts only"},
             {"--zero 4", "--zero: "},
             {"--json --csv -", "--json and --csv - both want standard output"},
             {"--csv /proc/nowhere/mesh.csv", "cannot write /proc/nowhere/mesh.csv"}}) {
        const Run run = run_program(BENCH_MESH, 2, options);
        INFO(run.output);
        CHECK(run.status == 2);
        const auto line = run.output.find("bench mesh: ");
        REQUIRE(line != std::string::npos);
        CHECK(contains(run.output.substr(line, run.output.find('\n', line) - line), reason));
    }
}
