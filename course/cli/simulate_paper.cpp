#include "course/cli/simulate_paper.hpp"

#include <fmt/format.h>

#include "course/files/atomic_file.hpp"
#include "course/process/error.hpp"
#include "course/report/fold.hpp"
#include "course/simulate/papers.hpp"

namespace dist::cli {

void expect_paper_alone(const Command& simulate) {
    for (const std::string& option : simulate.given()) {
        if (option != "--paper" && option != "--json" && option != "--csv") {
            throw UsageError(
                fmt::format("{} does not go with --paper, which says all that itself", option)
            );
        }
    }
}

void simulate_paper(Context& context, const std::string& name, const std::string& csv) {
    if (name == "list") {
        fmt::print("{}", context.json ? json_of(papers()) : list_of(papers()));
        return;
    }
    const Paper paper = find_paper(name);
    if (!csv.empty()) {
        files::check_writable(csv);
    }
    if (context.json) {
        fmt::print("{}", json_of(paper));
    } else {
        print_folded(table_of(paper));
    }
    if (!csv.empty()) {
        files::write_atomically(csv, csv_of(paper));
    }
}

}  // namespace dist::cli
