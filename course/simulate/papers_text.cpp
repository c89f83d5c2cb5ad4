// Published figures beside ours: for people a table, for programs JSON and CSV.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "course/simulate/papers.hpp"

namespace dist::cli {

std::string table_of(const Paper& paper) {
    std::size_t width = 0;
    for (const PaperRow& row : paper.rows) {
        width = std::max(width, row.what.size());
    }
    std::string text = fmt::format(
        "# {}\n# theirs: {}\n# ours: {}\n# {}\n{:<{}} {:>10} {:>10} {:>12}\n", paper.title,
        paper.source, paper.ours, paper.unit, "#", width, "theirs", "ours", "ours/theirs"
    );
    for (const PaperRow& row : paper.rows) {
        text += fmt::format(
            "{:<{}} {:>10.2f} {:>10.2f} {:>12.2f}\n", row.what, width, row.theirs, row.ours,
            row.ratio()
        );
    }
    return text + fmt::format("# {}\n", paper.why);
}

std::string csv_of(const Paper& paper) {
    std::string text = "what,unit,theirs,ours,ratio\n";
    for (const PaperRow& row : paper.rows) {
        text += fmt::format(
            "{},{},{},{},{}\n", row.what, paper.unit, row.theirs, row.ours, row.ratio()
        );
    }
    return text;
}

std::string json_of(const Paper& paper) {
    nlohmann::json document = {
        {"name", paper.name},
        {"title", paper.title},
        {"source", paper.source},
        {"ours", paper.ours},
        {"unit", paper.unit},
        {"why", paper.why},
        {"rows", nlohmann::json::array()}};
    for (const PaperRow& row : paper.rows) {
        document["rows"].push_back(
            {{"what", row.what}, {"theirs", row.theirs}, {"ours", row.ours}, {"ratio", row.ratio()}}
        );
    }
    return document.dump(2) + "\n";
}

std::string list_of(const std::vector<Paper>& papers) {
    std::string text;
    for (const Paper& paper : papers) {
        text += fmt::format("{:<10} {}\n", paper.name, paper.title);
    }
    return text;
}

std::string json_of(const std::vector<Paper>& papers) {
    nlohmann::json document = {{"papers", nlohmann::json::array()}};
    for (const Paper& paper : papers) {
        document["papers"].push_back({{"name", paper.name}, {"title", paper.title}});
    }
    return document.dump(2) + "\n";
}

}  // namespace dist::cli
