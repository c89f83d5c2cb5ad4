// What the command remembers of the student's work.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

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

    fs::path root = fs::temp_directory_path() / ("cli_progress_" + std::to_string(getpid()));
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
