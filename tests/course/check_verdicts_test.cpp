// What `check` need not find again.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "course/check/series.hpp"
#include "course/check/verdicts.hpp"
#include "course/grade/evidence.hpp"
#include "course/process/error.hpp"
#include "tests/harness/catch2.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// A checkout with one file in it, where CI is not set.
class CheckoutWithAnswer {
  public:
    CheckoutWithAnswer() {
        const char* const ci = std::getenv("CI");
        ci_ = ci == nullptr ? "" : ci;
        unsetenv("CI");
        context.root = fs::temp_directory_path() / ("verdicts-" + std::to_string(getpid()));
        fs::create_directories(context.root);
        write("answer.cpp", "right");
    }
    ~CheckoutWithAnswer() {
        fs::remove_all(context.root);
        if (!ci_.empty()) {
            setenv("CI", ci_.c_str(), 1);
        }
    }
    CheckoutWithAnswer(const CheckoutWithAnswer&) = delete;
    CheckoutWithAnswer& operator=(const CheckoutWithAnswer&) = delete;
    CheckoutWithAnswer(CheckoutWithAnswer&&) = delete;
    CheckoutWithAnswer& operator=(CheckoutWithAnswer&&) = delete;

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(context.root / name) << text;
    }
    [[nodiscard]] Basis basis(const std::string& trial, const std::string& how = "seed 1") const {
        return {trial, how, {context.root / "answer.cpp"}};
    }

    Context context;

  private:
    std::string ci_;
};

TEST_CASE("an alternative that makes fewer checks than the solution, or more, is told with the test"
) {
    const Checks solution = {{"sums", {7, 7}}, {"refuses", {1, 1}}};
    CHECK(other_checks(solution, solution).empty());
    const std::string fewer = other_checks({{"sums", {7, 6}}, {"refuses", {1, 1}}}, solution);
    CHECK(fewer.find("in 'sums' rank 1 made 6 of 7 checks") == 0);
    const std::string more = other_checks({{"sums", {9, 7}}, {"refuses", {1, 1}}}, solution);
    CHECK(more.find("the solution, in 'sums' rank 0 made 7 of 9 checks") == 0);
}

TEST_CASE("a verdict of check holds until something changes that it rests on", "[check]") {
    const CheckoutWithAnswer checkout;
    const Basis basis = checkout.basis("ring solution");
    CHECK_FALSE(Verdicts(checkout.context, false).hold(basis));
    Verdicts(checkout.context, false).keep(basis);
    CHECK(Verdicts(checkout.context, false).hold(basis));

    SECTION("another trial, or another way to try it, has no verdict") {
        CHECK_FALSE(Verdicts(checkout.context, false).hold(checkout.basis("ring stub")));
        CHECK_FALSE(
            Verdicts(checkout.context, false).hold(checkout.basis("ring solution", "seed 2"))
        );
    }
    SECTION("a file that changed") {
        checkout.write("answer.cpp", "wrong");
        CHECK_FALSE(Verdicts(checkout.context, false).hold(basis));
        checkout.write("answer.cpp", "right");
        CHECK(Verdicts(checkout.context, false).hold(basis));
    }
    SECTION("a file that is gone") {
        fs::remove(checkout.context.root / "answer.cpp");
        CHECK_FALSE(Verdicts(checkout.context, false).hold(basis));
    }
    SECTION("what is unexpected is forgotten") {
        Verdicts(checkout.context, false).forget(basis);
        CHECK_FALSE(Verdicts(checkout.context, false).hold(basis));
    }
    SECTION("--fresh and CI take none") {
        CHECK_FALSE(Verdicts(checkout.context, true).hold(basis));
        setenv("CI", "true", 1);
        CHECK_FALSE(Verdicts(checkout.context, false).hold(basis));
        unsetenv("CI");
    }
    SECTION("another preset has verdicts of its own") {
        Context debug = checkout.context;
        debug.preset = "debug";
        CHECK_FALSE(Verdicts(debug, false).hold(basis));
    }
    SECTION("a large file counts by its size") {
        checkout.write("answer.cpp", std::string(5 << 20, 'a'));
        Verdicts(checkout.context, false).keep(basis);
        CHECK(Verdicts(checkout.context, false).hold(basis));
        checkout.write("answer.cpp", std::string((5 << 20) + 1, 'a'));
        CHECK_FALSE(Verdicts(checkout.context, false).hold(basis));
    }
}

TEST_CASE("a verdict that rests on a file that is not there is not kept", "[check]") {
    const CheckoutWithAnswer checkout;
    Basis basis = checkout.basis("ring solution");
    basis.files.push_back(checkout.context.root / "absent.hpp");
    Verdicts(checkout.context, false).keep(basis);
    CHECK_FALSE(Verdicts(checkout.context, false).hold(basis));
}

}  // namespace

TEST_CASE("the shares of the wrong answers have each of them once") {
    for (int place = 0; place < 10; ++place) {
        int times = 0;
        for (const char* const share : {"1/3", "2/3", "3/3"}) {
            times += share_named(share).has(place) ? 1 : 0;
        }
        CHECK(times == 1);
        CHECK(share_named("1/1").has(place));
    }
    CHECK(share_named("2/3").has(1));
}

TEST_CASE("what is no share is refused") {
    for (const char* const text : {"0/3", "4/3", "-1/3", "2", "2/", "2/3rds", "", "1/0"}) {
        INFO(text);
        CHECK_THROWS_AS(share_named(text), UsageError);
    }
}
}  // namespace dist::cli
