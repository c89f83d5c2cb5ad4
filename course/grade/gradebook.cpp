#include "course/grade/gradebook.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "course/files/atomic_file.hpp"
#include "course/grade/formats.hpp"
#include "course/grade/similarity.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// A submission's name as that of a file: not hidden, and no longer than a file system takes.
std::string file_name(const std::string& submission) {
    constexpr std::size_t kMost = 120;
    std::string name = submission;
    std::replace(name.begin(), name.end(), '/', '_');
    if (name.starts_with(".")) {
        name.front() = '_';
    }
    return name.size() <= kMost && name == submission
               ? name
               : fmt::format(
                     "{}-{:08x}", name.substr(0, kMost),
                     static_cast<std::uint32_t>(std::hash<std::string>{}(submission))
                 );
}

}  // namespace

Gradebook::Gradebook(fs::path folder) : folder_(std::move(folder)) {
    fs::create_directories(folder_);
}

bool Gradebook::has_grades() const {
    return fs::exists(folder_ / "native");
}

std::vector<std::uint64_t> Gradebook::seeds() const {
    const Grade document = Grade::parse(read_text(folder_ / "grading.json"), nullptr, false);
    return document.is_object() ? document.value("seeds", std::vector<std::uint64_t>())
                                : std::vector<std::uint64_t>();
}

void Gradebook::write_seeds(const std::vector<std::uint64_t>& seeds) {
    put("grading.json", Grade({{"format", 1}, {"seeds", seeds}}).dump() + "\n");
}

fs::path Gradebook::native(const std::string& submission, const std::string& exercise) const {
    return fs::path("native") / file_name(submission) / (exercise + ".json");
}

std::optional<Grade> Gradebook::read(const std::string& submission, const std::string& exercise)
    const {
    const std::string text = read_text(folder_ / native(submission, exercise));
    Grade record = Grade::parse(text, nullptr, false);
    return record.is_object() && record.contains("submission") ? std::optional(std::move(record))
                                                               : std::nullopt;
}

void Gradebook::put(const fs::path& file, const std::string& text) {
    const std::lock_guard lock(one_at_a_time_);
    fs::create_directories((folder_ / file).parent_path());
    files::write_atomically(folder_ / file, text);
}

void Gradebook::write(const Grade& record) {
    put(native(submission_of(record), exercise_of(record)), record.dump() + "\n");
}

void Gradebook::write_all(
    const std::vector<Grade>& records, const std::vector<std::string>& notes
) {
    put("results.csv", as_csv(records));
    put("canvas.csv", as_canvas(records));
    put("junit.xml", as_junit(records));
    put("report.html", as_html(records, notes));
    std::map<std::string, std::vector<Grade>> of;
    for (const Grade& record : records) {
        go_on_unless_interrupted();
        const std::string name = file_name(submission_of(record));
        of[name].push_back(record);
        put(fs::path("exercism") / name / (exercise_of(record) + ".json"), as_exercism(record));
    }
    for (const auto& [name, its] : of) {
        put(fs::path("gradescope") / (name + ".json"), as_gradescope(its));
    }
}

void Gradebook::write_similar(
    const std::string& exercise,
    const std::string& stub,
    const std::map<std::string, std::string>& answers
) {
    const fs::path folder = fs::path("similar") / exercise;
    std::string list = "filename,full_name\n";
    for (const auto& [submission, text] : answers) {
        const std::string name = file_name(submission) + ".cpp";
        put(folder / name, normalised(text));
        list += csv_cell(name) + "," + csv_cell(submission) + "\n";
    }
    put(folder / "info.csv", list);
    put(fs::path("similar/stubs") / (exercise + ".cpp"), normalised(stub));
}

}  // namespace dist::cli
