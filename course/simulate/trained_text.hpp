// What a simulated training takes: for people a table and a picture, for programs JSON and CSV.
#pragma once

#include <string>

#include "course/simulate/trained.hpp"

namespace dist::cli {

/// "ddp"; of ps its servers, too, where there are several numbers of them: "ps 4".
std::string name_of(trainer::Parallel way, int servers, const TrainingSimulation& wanted);

/// With ps a second table says what limits a step.
///
/// columns  of the window: in a narrow one the table has fewer columns.
std::string table_of(
    const Trained& trained,
    const TrainingSimulation& wanted,
    std::size_t columns = std::string::npos
);
std::string csv_of(const Trained& trained);
std::string json_of(const Trained& trained, const TrainingSimulation& wanted);

/// "resnet34, 64 pictures a rank, simulated: 10 Gbit/s, 2 us"
std::string title_of(const TrainingSimulation& wanted);

/// A page for a browser: pictures a second, efficiency and times over ranks, to be pointed at.
std::string page_of(const Trained& trained, const TrainingSimulation& wanted);

/// gnuplot's script: pictures a second over ranks, beside what no message would cost, and the efficiency.
std::string picture_of(const Trained& trained, const TrainingSimulation& wanted);

}  // namespace dist::cli
