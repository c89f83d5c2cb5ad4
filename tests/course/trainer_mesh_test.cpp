// --parallel 3d: a GPT on a mesh of ranks.
#include <fstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "course/parallel/mesh_shape.hpp"
#include "tests/course/mesh_records.hpp"
#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

using dist::trainer::MeshShape;
using dist::trainer::read_mesh;

TEST_CASE("a mesh is read, and what is none is refused", "[mesh]") {
    CHECK(read_mesh("dp=2,pp=3,tp=4") == MeshShape{.tp = 4, .cp = 1, .ep = 1, .dp = 2, .pp = 3});
    CHECK(read_mesh("cp=2") == MeshShape{.tp = 1, .cp = 2, .ep = 1, .dp = 1, .pp = 1});
    CHECK(read_mesh("ep=2") == MeshShape{.tp = 1, .cp = 1, .ep = 2, .dp = 1, .pp = 1});
    CHECK(describe(read_mesh("tp=4,dp=2,ep=3")) == "dp=2,pp=1,cp=1,tp=4,ep=3");
    CHECK(ranks_of(read_mesh("dp=4096,pp=4096,cp=4096,tp=4096")) == 1LL << 48);
    CHECK(ranks_of(read_mesh("dp=2,ep=3")) == 6);
    for (const char* const text :
         {"dp", "dp=", "dp=0", "dp=-1", "dp=2x", "dp=5000", "=2", "xp=2", "dp=2,,tp=2",
          "dp=1,dp=2"}) {
        INFO(text);
        CHECK_THROWS_AS(read_mesh(text), std::invalid_argument);
    }
}

TEST_CASE("gradients of every mesh of 4 ranks are those of one process", "[mesh]") {
    for (const auto& record : trained_with(
             4, {"--mesh dp=4", "--mesh pp=4", "--mesh cp=4", "--mesh tp=4", "--mesh dp=2,pp=2",
                 "--mesh dp=2,cp=2", "--mesh dp=2,tp=2", "--mesh pp=2,cp=2", "--mesh pp=2,tp=2",
                 "--mesh cp=2,tp=2", "--mesh tp=4 --sequence-parallel",
                 "--mesh cp=2,tp=2 --sequence-parallel --micro-batches 2",
                 "--mesh pp=2,tp=2 --sequence-parallel --pipeline zb --micro-batches 4"}
         )) {
        check_as_one_process(record);
    }
}

TEST_CASE("gradients of every mesh of 8 ranks are too", "[mesh]") {
    const std::string shape = "--heads 8 --layers 8 --mesh ";  // a head and a stage for each rank
    std::vector<std::string> options;
    for (const int dp : {1, 2, 4, 8}) {
        for (const int pp : {1, 2, 4, 8}) {
            for (const int cp : {1, 2, 4, 8}) {
                if (8 % (dp * pp * cp) == 0) {
                    const MeshShape mesh{
                        .tp = 8 / (dp * pp * cp), .cp = cp, .ep = 1, .dp = dp, .pp = pp};
                    options.push_back(shape + describe(mesh));
                }
            }
        }
    }
    REQUIRE(options.size() == 20);
    options.push_back(shape + "dp=2,pp=2,tp=2 --zero 1");
    options.push_back(shape + "dp=2,cp=2,tp=2 --zero 3");
    options.push_back(shape + "pp=2,cp=2,tp=2 --sequence-parallel");
    for (const auto& record : trained_with(8, options)) {
        check_as_one_process(record);
    }
}

TEST_CASE("a pipeline has the bits of one rank with the same micro-batches", "[mesh]") {
    const auto alone = trained_with(1, {"--mesh pp=1 --micro-batches 4"});
    const auto two = trained_with(
        2, {"--mesh pp=2 --micro-batches 4", "--mesh pp=2 --micro-batches 4 --pipeline gpipe",
            "--mesh pp=2 --micro-batches 4 --pipeline interleaved",
            "--mesh pp=2 --micro-batches 4 --pipeline zb"}
    );
    const auto four = trained_with(
        4, {"--mesh pp=4 --micro-batches 4", "--mesh pp=4 --micro-batches 4 --pipeline zb"}
    );
    for (const auto& records : {two, four}) {
        for (const auto& record : records) {
            INFO(record.dump());
            CHECK(record.at("digest") == alone[0].at("digest"));
            CHECK(record.at("losses") == alone[0].at("losses"));
        }
    }
    CHECK(
        trained_with(1, {"--mesh pp=1 --micro-batches 2"})[0].at("digest") != alone[0].at("digest")
    );
}

TEST_CASE("what ranks of dp and cp share is cut into shards", "[mesh]") {
    std::vector<std::string> options;
    for (const char* const mesh : {"dp=4", "dp=2,pp=2", "dp=2,tp=2", "cp=2,tp=2"}) {
        for (const char* const zero : {"1", "2", "3"}) {
            options.push_back(std::string("--micro-batches 2 --mesh ") + mesh + " --zero " + zero);
        }
    }
    for (const char* const copies : {"dp=4", "dp=2,cp=2"}) {
        options.push_back(std::string("--mesh ") + copies + " --zero 3 --shard-ranks 2");
    }
    options.emplace_back("--micro-batches 2 --mesh dp=2,pp=2 --zero 3 --shard-ranks 1");
    options.emplace_back("--pipeline zb --micro-batches 2 --mesh dp=2,pp=2 --zero 2");
    options.emplace_back("--pipeline interleaved --micro-batches 2 --mesh dp=2,pp=2 --zero 3");
    for (const auto& record : trained_with(4, options)) {
        check_as_one_process(record);
    }
}

namespace {

// Learned in a few steps: what comes next follows from the last byte alone.
struct MeshRun {
    TemporaryFolder folder;
    std::string log = (folder.path() / "log.jsonl").string();

    MeshRun() {
        std::ofstream text(folder.path() / "text");
        for (int i = 0; i < 200; ++i) {
            text << "abcdefghijklmnopqrstuvwxyz\n";
        }
    }

    /// of the whole batch, `batch`, a data rank's
    [[nodiscard]] std::string options(int batch) const {
        return "--model gpt --context 16 --layers 4 --width 16 --heads 4 --steps 10 --rate 0.1 "
               "--log " +
               log + " --text " + (folder.path() / "text").string() + " --batch " +
               std::to_string(batch) + " ";
    }

    [[nodiscard]] std::string checkpoint() const {
        return " --checkpoint " + (folder.path() / "run").string();
    }

    [[nodiscard]] Records records() const { return read_log(log); }
};

Run succeeded(int ranks, const std::string& arguments) {
    Run run = run_trainer(ranks, arguments);
    INFO(run.output);
    REQUIRE(run.status == 0);
    return run;
}

}  // namespace

TEST_CASE("train on a mesh logs what one process logs", "[mesh]") {
    const MeshRun run;
    const std::string clip =
        "--clip-norm 0.5 --parallel ";  // what every rank of tp has counts once
    struct Mesh {
        std::string model;
        std::vector<std::pair<int, std::string>> of_batch;
    };
    const auto [model, meshes] = GENERATE(
        Mesh{"", {{4, "dp=2,tp=2"}, {8, "pp=2,tp=2 --sequence-parallel"}}},
        Mesh{kExperts, {{2, "dp=2,ep=2"}, {4, "ep=2,tp=2"}, {4, "pp=2,ep=2 --micro-batches 1"}}}
    );
    succeeded(1, run.options(8) + model + clip + "none");
    const Records wanted = run.records();
    REQUIRE(wanted[0].at("grad_norm") > 0.5);
    const std::string on_a_mesh = model + clip + "3d --mesh ";
    for (const auto& [batch, mesh] : meshes) {
        const Run got = succeeded(4, run.options(batch).append(on_a_mesh).append(mesh));
        INFO(got.output);
        CHECK(contains(
            got.output, model.empty() ? "for each part of dp; 3d: a GPT cut across a mesh"
                                      : "for each part of dp and ep; 3d: a GPT cut across a mesh"
        ));
        const Records records = run.records();
        REQUIRE(records.size() == wanted.size());
        for (std::size_t i = 0; i < records.size(); ++i) {
            for (const char* const field :
                 {"loss", "accuracy", "tokens", "grad_norm", "test_loss", "test_accuracy"}) {
                INFO(mesh << ", record " << i << ", " << field);
                REQUIRE(records[i].contains(field) == wanted[i].contains(field));
                if (wanted[i].contains(field)) {
                    const double value = wanted[i].at(field);
                    CHECK(records[i].at(field).get<double>() == Approx(value).margin(1e-4));
                }
            }
        }
    }
}

TEST_CASE("a run goes on under another mesh, and in every other way", "[mesh]") {
    struct Half {
        int ranks;
        int batch;
        const char* way;
    };
    const auto [model, first, second] = GENERATE(
        std::tuple<std::string, Half, Half>{
            "", {4, 4, "3d --mesh dp=2,tp=2 --zero 1"}, {4, 8, "3d --mesh pp=2,cp=2"}},
        std::tuple<std::string, Half, Half>{
            "", {2, 4, "zero3"}, {4, 4, "3d --mesh dp=2,tp=2 --zero 3"}},
        std::tuple<std::string, Half, Half>{"", {4, 8, "3d --mesh pp=2,tp=2"}, {1, 8, "none"}},
        std::tuple<std::string, Half, Half>{
            "", {4, 2, "3d --mesh dp=4 --zero 3 --shard-ranks 2"}, {2, 4, "zero3 --shard-ranks 1"}},
        std::tuple<std::string, Half, Half>{
            kExperts + "--balance 0",
            {4, 2, "3d --mesh dp=2,ep=2 --zero 1"},
            {2, 4, "3d --mesh pp=1,ep=2"}},
        std::tuple<std::string, Half, Half>{
            kExperts + "--balance 0", {4, 2, "3d --mesh ep=4"}, {2, 4, "zero3"}}
    );
    const MeshRun run;
    const std::string adam = model + " --optimizer adamw --rate 0.01 ";
    succeeded(1, run.options(8) + adam + "--parallel none");
    const auto wanted = losses(run.log);
    succeeded(
        first.ranks, run.options(first.batch) + adam + "--stop-after 5 --parallel " + first.way +
                         run.checkpoint()
    );
    succeeded(
        second.ranks,
        run.options(second.batch) + adam + "--resume --parallel " + second.way + run.checkpoint()
    );
    const auto got = losses(run.log);
    REQUIRE(got.size() == wanted.size());
    for (std::size_t step = 0; step < wanted.size(); ++step) {
        INFO(first.way << ", then " << second.way << ", step " << step);
        CHECK(got[step] == Approx(wanted[step]).epsilon(1e-3));
    }
}

TEST_CASE("a mesh of more ranks than there are is refused in one line", "[mesh]") {
    const Run run = run_trainer(2, "--model gpt --parallel 3d --mesh dp=2,tp=2");
    INFO(run.output);
    CHECK(run.status == 2);
    CHECK(contains(
        run.output,
        "train: --mesh dp=2,pp=1,cp=1,tp=2,ep=1 has 4 ranks, and here are 2: train -n 4\n"
    ));
}
