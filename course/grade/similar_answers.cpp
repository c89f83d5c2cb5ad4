#include "course/grade/similar_answers.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "course/grade/similarity.hpp"
#include "course/manifest/stub.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {

void note_similar(
    const Context& context, const Exercise& exercise, std::span<Graded> all, Gradebook& book
) {
    constexpr double kNearly = 0.9;
    const std::string stub = given_stub(context, exercise);
    std::map<std::string, std::string> answers;
    std::vector<std::pair<Graded*, Fingerprint>> texts;
    for (Graded& item : all) {
        const auto file = item.submission->files.find(exercise.name);
        if (item.exercise == &exercise && file != item.submission->files.end() &&
            !item.record.is_null()) {
            item.record["similar_to"] = Grade::array();
            texts.emplace_back(&item, Fingerprint(file->second, stub));
            answers[item.submission->name] = file->second;
        }
    }
    book.write_similar(exercise.name, stub, answers);
    for (const auto& [item, text] : texts) {
        go_on_unless_interrupted();
        for (const auto& [other, its_text] : texts) {
            const double share = item == other ? 0 : text.shared_with(its_text);
            if (share >= kNearly) {
                item->record["similar_to"].push_back(
                    {{"id", other->submission->name}, {"share", share}}
                );
            }
        }
    }
}

}  // namespace dist::cli
