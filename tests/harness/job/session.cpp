#include "tests/harness/job/session.hpp"

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/interfaces/catch_interfaces_testcase.hpp>
#include <catch2/internal/catch_test_case_registry_impl.hpp>
#define SHARDLINGS_CATCH2_V3
#else
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>
#endif

#include <array>

namespace dist::harness::session {
namespace {

Catch::Session& the_session() {
    static Catch::Session session;
    static const int status = [] {
        constexpr std::array kArguments = {"test", "--order", "decl", "--out", "/dev/null"};
        return session.applyCommandLine(static_cast<int>(kArguments.size()), kArguments.data());
    }();
    static_cast<void>(status);
    return session;
}

}  // namespace

std::vector<Test> tests() {
    std::vector<Test> all;
    for (const auto& test : Catch::getAllTestCasesSorted(the_session().config())) {
#ifdef SHARDLINGS_CATCH2_V3
        const Catch::TestCaseInfo& info = test.getTestCaseInfo();
#else
        const Catch::TestCaseInfo& info = test;
#endif
        all.push_back({info.name, info.tagsAsString().find("[many]") != std::string::npos});
    }
    return all;
}

void run() {
    the_session().run();
}

int run_alone(int argc, char** argv) {
    return Catch::Session().run(argc, argv);
}

}  // namespace dist::harness::session
