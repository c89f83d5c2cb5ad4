#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "course/pages/pages.hpp"
#include "course/simulate/trained_text.hpp"

namespace dist::cli {

std::string page_of(const Trained& trained, const TrainingSimulation& wanted) {
    return pages::curves(
        {.title = title_of(wanted),
         .still = "<pre>" + pages::escaped(table_of(trained, wanted)) + "</pre>"},
        nlohmann::json::parse(json_of(trained, wanted))
    );
}

}  // namespace dist::cli
