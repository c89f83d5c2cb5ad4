// What layouts of a GPT take: for people tables and a picture, for programs JSON and CSV.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "course/simulate/gpt_layouts.hpp"
#include "course/simulate/gpt_published.hpp"

namespace dist::cli {

inline constexpr std::size_t kShownLayouts = 10;  // in tables and pictures; JSON and CSV have all

/// columns  of the window: in a narrow one the table has fewer columns.
std::string table_of(
    const GptSearch& search,
    const GptTraining& training,
    bool one_mesh,
    std::size_t columns = std::string::npos
);
std::string csv_of(const GptSearch& search);
std::string json_of(const GptSearch& search, const GptTraining& training);

/// gnuplot's script: where the time of the fastest layouts goes, and what fills a rank's memory.
std::string picture_of(const GptSearch& search, const GptTraining& training);

std::string table_of(const PublishedComparison& comparison, const GptTraining& training);
std::string csv_of(const PublishedComparison& comparison);
std::string json_of(const PublishedComparison& comparison, const GptTraining& training);

/// "312 TFLOP/s, 2039 GB/s and 80 GB of memory"
std::string words_of(const Card& card);

nlohmann::json document_of(const GptLayout& layout);

/// Card, cluster, and what else is the same for all layouts.
nlohmann::json document_of(const GptTraining& training);

}  // namespace dist::cli
