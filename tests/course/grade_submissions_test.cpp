// What is found in the folders and archives that students hand in.
#include <archive.h>
#include <archive_entry.h>
#include <chrono>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/grade/entries.hpp"
#include "course/grade/similarity.hpp"
#include "course/grade/submissions.hpp"
#include "course/process/error.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

/// A folder that goes with the test.
class Handed {
  public:
    Handed() : folder_(fs::temp_directory_path() / ("handed-" + std::to_string(getpid()))) {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~Handed() {
        fs::remove_all(folder_);
        fs::remove_all(course_);
    }
    Handed(const Handed&) = delete;
    Handed& operator=(const Handed&) = delete;

    [[nodiscard]] const fs::path& folder() const { return folder_; }
    void write(const fs::path& file, const std::string& text) const {
        fs::create_directories((folder_ / file).parent_path());
        std::ofstream(folder_ / file, std::ios::binary) << text;
    }
    [[nodiscard]] HandedIn all(std::chrono::minutes zone = {}) const {
        Manifest manifest;
        for (const char* const name : {"ring_shift", "send_recv", "barrier"}) {
            Exercise exercise;
            exercise.name = name;
            exercise.chapter = "01";
            manifest.exercises.push_back(exercise);
        }
        return read_submissions(folder_, manifest, course_, zone);
    }
    [[nodiscard]] std::vector<Submission> read() const { return all().submissions; }
    /// Its file in exercises/.
    void write_given(const fs::path& file, const std::string& text) const {
        fs::create_directories((course_ / "exercises/01" / file).parent_path());
        std::ofstream(course_ / "exercises/01" / file) << text;
    }

  private:
    fs::path folder_;
    fs::path course_ = folder_.string() + "-course";
};

struct Item {
    std::string path;
    std::string text = "int x;\n";
    bool link = false;
    long pretended_size = -1;
};

/// Writes a zip, or a tar.gz, by its name.
void pack(const fs::path& file, const std::vector<Item>& items) {
    const std::unique_ptr<archive, decltype(&archive_write_free)> to(
        archive_write_new(), &archive_write_free
    );
    const std::string name = file.filename().string();
    if (name.ends_with("ip") || name.ends_with("IP")) {
        archive_write_set_format_zip(to.get());
    } else if (name.ends_with(".7z")) {
        archive_write_set_format_7zip(to.get());
    } else {
        archive_write_set_format_pax_restricted(to.get());
        name.ends_with(".Z") ? archive_write_add_filter_compress(to.get())
                             : archive_write_add_filter_gzip(to.get());
    }
    archive_write_open_filename(to.get(), file.c_str());
    for (const Item& item : items) {
        const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(
            archive_entry_new(), &archive_entry_free
        );
        archive_entry_set_pathname(entry.get(), item.path.c_str());
        archive_entry_set_perm(entry.get(), 0644);
        if (item.link) {
            archive_entry_set_filetype(entry.get(), AE_IFLNK);
            archive_entry_set_symlink(entry.get(), "/etc/passwd");
        } else {
            archive_entry_set_filetype(entry.get(), AE_IFREG);
            archive_entry_set_size(entry.get(), static_cast<la_int64_t>(item.text.size()));
        }
        archive_write_header(to.get(), entry.get());
        archive_write_data(to.get(), item.text.data(), item.text.size());
    }
    archive_write_close(to.get());
}

bool noted(const Submission& submission, const std::string& words) {
    for (const std::string& note : submission.notes) {
        if (has(note, words)) {
            return true;
        }
    }
    return false;
}

}  // namespace

TEST_CASE("files are found by their names, at any depth, in folders and archives") {
    const Handed handed;
    handed.write("ada/ring_shift.cpp", "ada's");
    handed.write("bob/a/b/c/d/ring_shift.cpp", "bob's");
    handed.write("bob/a/readme.txt", "hello");
    pack(
        handed.folder() / "cyd.zip",
        {{"homework/01/ring_shift.cpp", "cyd's"}, {"__MACOSX/._ring_shift.cpp", "x"}}
    );
    pack(handed.folder() / "dan.tar.gz", {{"./ring_shift.cpp", "dan's"}, {"barrier.cpp", "too"}});
    handed.write(".hidden/ring_shift.cpp", "nobody's");
    handed.write("notes.txt", "nobody's");
    const auto all = handed.read();
    REQUIRE(all.size() == 4);
    CHECK(all[0].name == "ada");
    CHECK(all[0].files.at("ring_shift") == "ada's");
    CHECK(all[1].files.at("ring_shift") == "bob's");
    CHECK(all[2].name == "cyd");
    CHECK(all[2].files.at("ring_shift") == "cyd's");
    CHECK(all[2].notes.empty());
    CHECK(all[3].name == "dan");
    CHECK(all[3].files.at("barrier") == "too");
}

TEST_CASE("two files of a name are no guess, unless they are the same") {
    const Handed handed;
    handed.write("ada/old/ring_shift.cpp", "one");
    handed.write("ada/new/ring_shift.cpp", "two");
    handed.write("bob/a/ring_shift.cpp", "one");
    handed.write("bob/b/ring_shift.cpp", "one");
    handed.write("cyd/1/ring_shift.cpp", "one");
    handed.write("cyd/2/ring_shift.cpp", "two");
    handed.write("cyd/3/ring_shift.cpp", "one");
    const auto all = handed.read();
    CHECK(all[0].files.empty());
    CHECK(
        all[0].unclear.at("ring_shift") ==
        "new/ring_shift.cpp and old/ring_shift.cpp differ: which of them is handed in?"
    );
    CHECK(all[1].files.at("ring_shift") == "one");
    CHECK(all[1].unclear.empty());
    CHECK(all[2].files.empty());
    CHECK(all[2].unclear.count("ring_shift") == 1);
}

TEST_CASE("names that are nearly right are told, and not taken") {
    const Handed handed;
    const std::vector<std::string> near = {
        "ring_shift (1).cpp",     "RING-SHIFT.CPP", "ring-shift-final.cpp", "ring_shift.cc",
        "ring_shift.cpp.txt",     "ring_shift.hpp", "ring_shift",           "my_ring_shift.cpp",
        "copy of Ring Shift.cpp", "ringshift.cpp",  "ring_shift.docx"};
    for (const std::string& name : near) {
        handed.write("ada/" + name, "x");
    }
    handed.write("bob/ring_shift.cpp", "x");  // a right one beside it hides none of them
    handed.write("bob/old/ring_shift.cpp.bak", "x");
    handed.write("cyd/ring_shift.cpp", "x");
    handed.write("cyd/ring_shift.o", "x");
    handed.write(
        "cyd/ring_shift", std::string(
                              "\x7f"
                              "ELF\0",
                              5
                          )
    );  // a program
    handed.write("cyd/ring_shift.hpp", "given\r\n");
    handed.write_given("ring_shift.hpp", "given\n");
    const auto all = handed.read();
    CHECK(all[0].files.empty());
    for (const std::string& name : near) {
        INFO(name);
        CHECK(noted(all[0], name + ": not taken; is it meant as ring_shift.cpp?"));
    }
    CHECK(noted(all[0], "no file of an exercise is in it"));
    CHECK(noted(all[1], "old/ring_shift.cpp.bak: not taken; is it meant as ring_shift.cpp?"));
    CHECK(all[2].notes.empty());
}

TEST_CASE("in a copy of the course the answers are those in exercises") {
    const Handed handed;
    for (const char* const copy : {"ada/", "bob/shardlings-main/"}) {
        const std::string at = copy;
        handed.write(at + "exercises/01/ring_shift.cpp", "answer");
        handed.write(at + "solutions/01/ring_shift.cpp", "solution");
        handed.write(at + "tests/mutants/01/ring_shift/ring_shift_wrong.cpp", "wrong");
        handed.write(at + "course/barrier.cpp", "no answer");
        handed.write(at + "build/ring_shift.cpp", "made");
        handed.write(at + ".git/ring_shift.cpp", "git's");
        fs::create_symlink("build", handed.folder() / (at + "compile_commands.json"));
    }
    handed.write("bob/ring_shift.cpp", "another");
    handed.write("cyd/solutions/01/ring_shift.cpp", "in a folder of that name, and no copy");
    std::vector<Item> many(kMostEntries + 1, Item{"x/build/o", ""});
    many.push_back({"x/exercises/01/ring_shift.cpp", "behind all that is made"});
    pack(handed.folder() / "dan.tar.gz", many);
    const auto all = handed.read();
    REQUIRE(all.size() == 4);
    CHECK(all[0].files == std::map<std::string, std::string>{{"ring_shift", "answer"}});
    CHECK(all[0].unclear.empty());
    CHECK(all[0].notes.empty());
    CHECK(all[1].files.at("ring_shift") == "answer");
    REQUIRE(all[1].notes.size() == 1);
    CHECK(noted(
        all[1],
        "ring_shift.cpp: not taken, since shardlings-main/exercises/01/ring_shift.cpp is there"
    ));
    CHECK(all[2].files.count("ring_shift") == 1);
    CHECK(all[3].files.at("ring_shift") == "behind all that is made");
}

TEST_CASE("what Canvas has named is its student's") {
    const Handed handed;
    handed.write("lovelaceada_1234_56789_ring_shift.cpp", "ada's");
    handed.write("lovelaceada_LATE_1234_56790_barrier-2.cpp", "ada's, too");
    pack(handed.folder() / "lovelaceada_1234_56791_rest.zip", {{"send_recv.cpp", "packed"}});
    handed.write("hopperg_LATE_77_88_ring_shift-1.cpp", "grace's");
    handed.write("hopperg_77_89_my_barrier.cpp", "nearly");
    const auto all = handed.read();
    REQUIRE(all.size() == 2);
    CHECK(all[0].name == "hopperg_77");
    CHECK(all[0].canvas_id == "77");
    CHECK(all[0].files.at("ring_shift") == "grace's");
    CHECK(noted(all[0], "hopperg_77_89_my_barrier.cpp: not taken; is it meant as barrier.cpp?"));
    CHECK(all[1].name == "lovelaceada_1234");
    CHECK(all[1].canvas_id == "1234");
    CHECK(all[1].files.size() == 3);
    CHECK(all[1].notes.empty());
}

TEST_CASE("a folder and an archive of one name are one submission") {
    const Handed handed;
    handed.write("ada/ring_shift.cpp", "one");
    pack(handed.folder() / "ada.zip", {{"ring_shift.cpp", "two"}, {"barrier.cpp", "x"}});
    const auto all = handed.read();
    REQUIRE(all.size() == 1);
    CHECK(all[0].files.count("barrier") == 1);
    CHECK(
        all[0].unclear.at("ring_shift") ==
        "ada.zip: ring_shift.cpp and ada: ring_shift.cpp differ: which of them is handed in?"
    );
}

TEST_CASE("archives are known by their endings in any case, and by no other names") {
    const Handed handed;
    for (const char* const name : {"a.ZIP", "b.Zip", "c.TAR.GZ", "d.7z", "e.tar.Z"}) {
        pack(handed.folder() / name, {{"ring_shift.cpp", name}});
    }
    handed.write("f.rar", "x");
    handed.write("ring_shift.cpp", "whose?");
    handed.write("grades.xlsx", "x");
    handed.write(".DS_Store", "x");
    fs::create_symlink("a.ZIP", handed.folder() / "g.zip");
    const HandedIn all = handed.all();
    REQUIRE(all.submissions.size() == 5);
    for (const Submission& submission : all.submissions) {
        INFO(submission.name);
        CHECK(submission.files.at("ring_shift").starts_with(submission.name + "."));
    }
    CHECK(
        all.notes ==
        std::vector<std::string>{
            "f.rar: not taken: it is neither a folder nor an archive (zip, 7z, tar) of a "
            "submission",
            "g.zip: not taken, it is a link",
            "grades.xlsx: not taken: it is neither a folder nor an archive (zip, 7z, tar) of a "
            "submission",
            "ring_shift.cpp: not taken: put it into a folder with the name of whose it is"}
    );
}

TEST_CASE("an archive's names are read in whatever locale") {
    const Handed handed;
    const std::string jose = "Jos\xc3\xa9/";
    setlocale(LC_ALL, "C.UTF-8");  // to write one
    pack(handed.folder() / "ada.zip", {{jose + "ring_shift.cpp", "new"}, {"old/barrier.cpp", "x"}});
    pack(
        handed.folder() / "bob.zip",
        {{jose + "ring_shift.cpp", "new"}, {"old/ring_shift.cpp", "old"}}
    );
    setlocale(LC_ALL, "C");
    pack(handed.folder() / "cyd.zip", {{"Jos\x82/ring_shift.cpp", "from DOS"}});
    const auto all = handed.read();
    CHECK(all[0].files.at("ring_shift") == "new");
    CHECK(has(all[1].unclear.at("ring_shift"), jose + "ring_shift.cpp"));
    CHECK(all[2].files.at("ring_shift") == "from DOS");
}

TEST_CASE("what is no text in UTF-8 is told, and lines are those of LF") {
    const Handed handed;
    handed.write("ada/ring_shift.cpp", std::string("\xFF\xFEi\0n\0t\0", 8));
    handed.write("bob/ring_shift.cpp", "\xEF\xBB\xBF// a\r#define b\r\n");
    const auto all = handed.read();
    CHECK(all[0].files.empty());
    CHECK(
        all[0].unclear.at("ring_shift") == "ring_shift.cpp is UTF-16: it has to be saved as UTF-8"
    );
    CHECK(all[1].files.at("ring_shift") == "// a\n#define b\n");
}

TEST_CASE("a time of a zip is one of the zone that is asked for, wherever it is read") {
    const Handed handed;
    // what Windows writes: a time of DOS, 2026-12-01 23:30:00, and no other
    const std::string zip(
        "PK\3\4\24\0\0\0\0\0\xc0\xbb\x81\x5d\0\0\0\0\0\0\0\0\0\0\0\0\16\0\0\0ring_shift.cpp"
        "PK\1\2\24\0\24\0\0\0\0\0\xc0\xbb\x81\x5d\0\0\0\0\0\0\0\0\0\0\0\0\16\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0"
        "\0\0\0\0ring_shift.cppPK\5\6\0\0\0\0\1\0\1\0\x3c\0\0\0\x2c\0\0\0\0\0",
        30 + 14 + 46 + 14 + 22
    );
    handed.write("ada.zip", zip);
    using namespace std::chrono;
    const sys_seconds written = sys_days(2026y / December / 1) + hours(23) + minutes(30);
    for (const char* const here : {"UTC", "Asia/Tokyo"}) {
        setenv("TZ", here, 1);
        CHECK(handed.all(minutes(60)).submissions[0].changed == written - hours(1));
        CHECK(handed.all(minutes(-210)).submissions[0].changed == written + minutes(210));
        CHECK(std::string(getenv("TZ")) == here);
    }
    unsetenv("TZ");
}

TEST_CASE("links, names that climb out and names that are no text are left, each by name") {
    const Handed handed;
    handed.write("secret.cpp", "not theirs");
    fs::create_directories(handed.folder() / "ada");
    fs::create_symlink(handed.folder() / "secret.cpp", handed.folder() / "ada/ring_shift.cpp");
    handed.write(std::string("ada/barrier\xff/barrier.cpp"), "x");
    pack(
        handed.folder() / "bob.tar.gz", {{"../ring_shift.cpp"},
                                         {"/etc/barrier.cpp"},
                                         {"a/../../send_recv.cpp"},
                                         {"b/ring_shift.cpp", "", true}}
    );
    const auto all = handed.read();
    REQUIRE(all.size() == 2);
    CHECK(all[0].files.count("ring_shift") == 0);
    CHECK(noted(all[0], "ring_shift.cpp: not taken, it is a link"));
    CHECK(all[0].files.count("barrier") == 1);  // its folder's name is nobody's business
    CHECK(all[1].files.empty());
    CHECK(noted(all[1], "../ring_shift.cpp: not taken, its name climbs out"));
    CHECK(noted(all[1], "/etc/barrier.cpp: not taken, its name begins outside"));
    CHECK(noted(all[1], "a/../../send_recv.cpp: not taken, its name climbs out"));
    CHECK(noted(all[1], "b/ring_shift.cpp: not taken, it is a link"));
}

TEST_CASE("what unpacks to too much is left where it is too much") {
    const Handed handed;
    const std::string long_text(kMostBytes + 1, ' ');
    pack(
        handed.folder() / "ada.tar.gz",
        {{"ring_shift.cpp", "ada's"}, {"zeros", long_text}, {"barrier.cpp", "x"}}
    );
    pack(handed.folder() / "bob.zip", {{"ring_shift.cpp", long_text.substr(0, kMostSource + 1)}});
    std::vector<Item> many(kMostEntries + 1, Item{"x", ""});
    many.push_back({"ring_shift.cpp"});
    pack(handed.folder() / "cyd.tar.gz", many);
    const auto all = handed.read();
    CHECK(all[0].files.at("ring_shift") == "ada's");
    CHECK(all[0].files.count("barrier") == 0);
    CHECK(noted(all[0], "256 MB: the rest was not looked at"));
    CHECK(all[1].files.empty());
    CHECK(noted(all[1], "ring_shift.cpp: not taken, it is longer than 1024 KB"));
    CHECK(all[2].files.empty());
    CHECK(noted(all[2], "more than 20000 files"));
}

TEST_CASE("an archive that is none is told, and costs nobody else anything") {
    const Handed handed;
    handed.write("ada.zip", "this is no archive");
    pack(handed.folder() / "bob.tar.gz", {{"ring_shift.cpp", std::string(100'000, 'x')}});
    fs::resize_file(handed.folder() / "bob.tar.gz", 60);
    handed.write("cyd/ring_shift.cpp", "cyd's");
    const auto all = handed.read();
    REQUIRE(all.size() == 3);
    CHECK(noted(all[0], "the archive"));
    CHECK_FALSE(all[1].notes.empty());
    CHECK(all[2].files.at("ring_shift") == "cyd's");
}

TEST_CASE("no folder, and one with nothing in it, are errors that say what is asked for") {
    const Handed handed;
    CHECK_THROWS_AS(handed.read(), UsageError);
    CHECK_THROWS_AS(read_submissions(handed.folder() / "none", {}, {}), UsageError);
}

TEST_CASE("bytes that are no text are spelt") {
    CHECK(
        as_text("Jos\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "Jos\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"
    );
    CHECK(as_text("a\xff") == "a\\xff");
    CHECK(as_text("\xc3") == "\\xc3");
    CHECK(as_text("\xc0\xaf") == "\\xc0\\xaf");           // a slash, too long
    CHECK(as_text("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half a pair
    CHECK(as_text("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
    CHECK(
        as_text("a\nb\x7f") ==
        "a\\x0a"
        "b\\x7f"
    );
}

TEST_CASE("answers that differ in names and layout alone are nearly the same, others are not") {
    const std::string stub = "void all_reduce(std::span<float> data) { throw NotImplemented(); }";
    const std::string one = R"(
void all_reduce(std::span<float> data, const Communicator& comm) {
    std::vector<float> inbox(data.size());
    for (int src = 1; src < comm.size(); ++src) {
        if (comm.rank() == 0) {
            MPI_Recv(inbox.data(), count, MPI_FLOAT, src, 0, comm.handle(), MPI_STATUS_IGNORE);
            for (std::size_t i = 0; i < inbox.size(); ++i) { data[i] += inbox[i]; }
        } else if (comm.rank() == src) {
            MPI_Send(data.data(), count, MPI_FLOAT, 0, 0, comm.handle());
        }
    }
}
)";
    std::string renamed = "// all my own work\n" + one;
    for (const auto& [from, to] :
         {std::pair{"inbox", "b"}, {"src", "other_rank"}, {"data", "x"}, {"count", "n"}}) {
        for (std::size_t at = renamed.find(from); at != std::string::npos;
             at = renamed.find(from, at + 1)) {
            renamed.replace(at, std::string(from).size(), to);
        }
    }
    const std::string other = R"(
void all_reduce(std::span<float> data, const Communicator& comm) {
    const int left = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<float> sum(data.begin(), data.end());
    while (steps-- > 0) {
        MPI_Sendrecv_replace(sum.data(), n, MPI_FLOAT, right, 0, left, 0, comm.handle(), MPI_STATUS_IGNORE);
        std::transform(data.begin(), data.end(), sum.begin(), data.begin(), std::plus<>());
    }
    if (op == ReduceOp::mean) { scale(data, 1.0F / comm.size()); }
}
)";
    const Fingerprint a(one, stub);
    CHECK(a.shared_with(Fingerprint(one, stub)) == 1);
    CHECK(a.shared_with(Fingerprint(renamed, stub)) > 0.95);
    CHECK(a.shared_with(Fingerprint(other, stub)) < 0.5);
    CHECK(Fingerprint(stub, stub).shared_with(Fingerprint(stub, stub)) == 0);
    CHECK(a.shared_with(Fingerprint(one, one)) == 0);  // what is given is nobody's own
}
