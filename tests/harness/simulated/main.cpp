// main() of an exercise's test on SimGrid's MPI, which calls it once for each rank.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include <mpi.h>

#include "tests/harness/job/records.hpp"
#include "tests/harness/job/runs.hpp"
#include "tests/harness/simulated/checks.hpp"
#include "tests/harness/simulated/rank.hpp"

namespace dist::harness::simulated {
namespace {

std::vector<TestCase> tests_to_run() {
    const std::string& text = order().test;
    const auto is_named = [&](const TestCase& test) { return test.name == text; };
    const bool whole = std::ranges::any_of(test_cases(), is_named);
    std::vector<TestCase> tests;
    for (const TestCase& test : test_cases()) {
        if (whole ? test.name == text : test.name.find(text) != std::string::npos) {
            tests.push_back(test);
        }
    }
    return tests;
}

bool failed() {
    return exploring() ? current_test().outcome != Outcome::pass : some_rank_failed();
}

void run_tests() {
    const std::vector<TestCase> tests = tests_to_run();
    if (!exploring()) {
        open_records(order().folder, world_rank());
        std::vector<std::string> plan(tests.size());
        std::ranges::transform(tests, plan.begin(), &TestCase::name);
        write_plan(plan, 0);
    }
    for (const TestCase& test : tests) {
        begin_test(test.name, true);
        run_choices(test, &failed);
        if (!exploring()) {
            write_test(current_test(), 0, 0, 0, 0);
        }
        end_test();
    }
    if (!exploring()) {
        write_finished();
    }
}

}  // namespace
}  // namespace dist::harness::simulated

int main(int argc, char** argv) {
    using namespace dist::harness;
    if (argc < 2) {
        std::fprintf(stderr, "this is a test for simulated ranks: ./shardlings prove --help\n");
        return 2;
    }
    int provided = 0;
    PMPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    std::ifstream file(argv[1]);
    simulated::set_order(nlohmann::json::parse(file).get<dist::simulation::TestOrder>());
    simulated::run_tests();
    const simulated::EndOfAll end;
    PMPI_Finalize();
    return 0;
}
