// What the command remembers of the student's work.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "course/build/newer.hpp"
#include "course/launch/mine.hpp"
#include "course/manifest/progress.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

/// A course of two exercises in a folder of its own, gone at the end.
class Course {
  public:
    Course() {
        for (const char* folder : {"exercises/01_first", "tests/01_first"}) {
            fs::create_directories(root / folder);
        }
        std::ofstream list(root / "exercises" / "course.toml");
        for (const char* name : {"one", "two"}) {
            list << "[[exercise]]\nname = \"" << name
                 << "\"\nchapter = \"01_first\"\ntitle = \"t\"\ndifficulty = 1\nimportance = 1\n"
                 << "minutes = 1\nranks = 1\nneeds = \"mpi\"\nuses = []\n"
                 << "hints = [\"a\", \"b\", \"c\"]\n";
            save(name, "int f();");
        }
    }
    Course(const Course&) = delete;
    Course& operator=(const Course&) = delete;
    Course(Course&&) = delete;
    Course& operator=(Course&&) = delete;
    ~Course() { fs::remove_all(root); }

    void save(const std::string& name, const std::string& text) const {
        std::ofstream(root / "exercises" / "01_first" / (name + ".cpp")) << text;
    }

    fs::path root = fs::temp_directory_path() /
                    ("cli_progress_" + std::to_string(getpid()) + "_" + std::to_string(++count));

  private:
    static inline int count = 0;
};

}  // namespace

TEST_CASE("progress comes back as it was written, and its absence is an empty one") {
    const fs::path root = fs::temp_directory_path() / ("cli_progress_" + std::to_string(getpid()));
    CHECK(read_progress(root).done.empty());
    Progress progress;
    progress.done = {"a", "b"};
    progress.hints["c"] = 2;
    progress.solutions_seen = {"a"};
    progress.current = "c";
    progress.answered = {"01_first/q"};
    progress.seed = 987654;
    note(progress, "b", State::pass, "0123");
    write_progress(root, progress);
    const Progress again = read_progress(root);
    CHECK(again.done == progress.done);
    CHECK(again.hints == progress.hints);
    CHECK(again.solutions_seen == progress.solutions_seen);
    CHECK(again.current == "c");
    CHECK(again.answered == progress.answered);
    CHECK(again.seed == 987654);
    CHECK(verdict_on(again, "b", "0123") == State::pass);
    fs::remove_all(root);
}

TEST_CASE("a verdict holds for the content that was judged, and a hang for none") {
    Progress progress;
    note(progress, "a", State::not_started, "1");
    CHECK(verdict_on(progress, "a", "1") == State::not_started);
    CHECK_FALSE(verdict_on(progress, "a", "2"));
    CHECK_FALSE(verdict_on(progress, "b", "1"));
    note(progress, "a", State::hang, "1");
    CHECK_FALSE(verdict_on(progress, "a", "1"));
}

TEST_CASE("the content changes with the student's file, and with nothing else of theirs") {
    const Course course;
    const Manifest manifest = read_manifest(course.root);
    const std::string before = content_of(course.root, manifest.exercises[0]);
    course.save("two", "int g();");
    CHECK(content_of(course.root, manifest.exercises[0]) == before);
    course.save("one", "int g();");
    CHECK(content_of(course.root, manifest.exercises[0]) != before);
}

TEST_CASE("the content changes with the harness, the helpers of tests and what answers include") {
    for (const char* const file :
         {"tests/harness/job/x.cpp", "tests/01_one/helper.hpp", "course/runtime/x.hpp"}) {
        const Course course;
        const Manifest manifest = read_manifest(course.root);
        const Course other;
        fs::create_directories((other.root / file).parent_path());
        std::ofstream(other.root / file) << "changed";
        INFO(file);
        CHECK(
            content_of(course.root, manifest.exercises[0]) !=
            content_of(other.root, manifest.exercises[0])
        );
    }
}

TEST_CASE("a test is as new as what it is made of until one of those files changes, comes or goes"
) {
    const Course course;
    Context context;
    context.root = course.root;
    const auto write = [&](const std::string& file) {
        fs::create_directories((course.root / file).parent_path());
        std::ofstream(course.root / file) << "text";
    };
    for (const char* const file :
         {"CMakeLists.txt", "CMakePresets.json", "build/release/build.ninja",
          "build/release/CMakeCache.txt", "course/runtime/a.hpp", "solutions/01_first/one.cpp",
          "tests/harness/a.hpp", "tests/mutants/a.toml", "scripts/cmake/a.cmake"}) {
        write(file);
    }
    using Time = fs::file_time_type;
    const auto later = [](int s) { return Time::clock::now() + std::chrono::seconds(s); };
    const Time built = later(10);
    CHECK_FALSE(anything_newer(context, built));
    for (const char* const mine : {"exercises/01_first/one.cpp", "tests/mutants/a.toml"}) {
        fs::last_write_time(course.root / mine, later(20));
    }
    CHECK_FALSE(anything_newer(context, built));
    for (const char* const file :
         {"course/runtime/a.hpp", "tests/harness/a.hpp", "solutions/01_first/one.cpp",
          "exercises/course.toml", "build/release/CMakeCache.txt", "tests/01_first"}) {
        INFO(file);
        const Time before = fs::last_write_time(course.root / file);
        fs::last_write_time(course.root / file, later(20));
        CHECK(anything_newer(context, built));
        fs::last_write_time(course.root / file, before);
    }
    fs::remove(course.root / "CMakeLists.txt");
    CHECK(anything_newer(context, built));
}

TEST_CASE("what has failed is not run again either, until it changes") {
    const Course course;
    const Manifest manifest = read_manifest(course.root);
    Progress progress;
    note(progress, "one", State::fail, content_of(course.root, manifest.exercises[0]));
    note(progress, "two", State::pass, content_of(course.root, manifest.exercises[1]));
    write_progress(course.root, progress);
    Context context;
    context.root = course.root;
    CHECK(finished_exercises(context, {"one", "two"}) == std::vector<std::string>{"two"});
    CHECK(passes_unchanged(course.root, progress, manifest.exercises[1]));
    CHECK_FALSE(passes_unchanged(course.root, progress, manifest.exercises[0]));
}

TEST_CASE("what verify has found is not asked again: nothing is built, nothing run") {
    const Course course;
    const Manifest manifest = read_manifest(course.root);
    Progress progress;
    note(progress, "one", State::pass, content_of(course.root, manifest.exercises[0]));
    note(progress, "two", State::not_started, content_of(course.root, manifest.exercises[1]));
    write_progress(course.root, progress);
    Context context;
    context.root = course.root;  // without a CMakeLists.txt: a run would throw
    CHECK(finished_exercises(context, {"one", "two"}) == std::vector<std::string>{"one"});
    course.save("one", "changed");
    CHECK_THROWS(finished_exercises(context, {"one", "two"}));
}
