#include "course/cli/simulate_gpt.hpp"

#include <charconv>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "course/files/atomic_file.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"
#include "course/process/screen.hpp"
#include "course/report/fold.hpp"
#include "course/simulate/gpt_text.hpp"

namespace dist::cli {
namespace {

constexpr int kMostGptRanks = 65536;

/// "dp=6,tp=8": what is not named is free.
void set_mesh(GptChoice& choice, const std::string& text) {
    for (const std::string& word : between_commas(text)) {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        int* const size = name == "dp"   ? &choice.dp
                          : name == "tp" ? &choice.tp
                          : name == "pp" ? &choice.pp
                                         : nullptr;
        const std::string number = equals == std::string::npos ? "" : word.substr(equals + 1);
        const char* const end = number.data() + number.size();
        int value = 0;
        const auto [rest, error] = std::from_chars(number.data(), end, value);
        if (size == nullptr || error != std::errc() || rest != end || value < 1) {
            throw UsageError(fmt::format(
                "--mesh {}: \"{}\" cannot be read: write dp=6,tp=8,pp=64, or some of these", text,
                word
            ));
        }
        *size = value;
    }
}

GptChoice choice_of(const GptArguments& arguments) {
    GptChoice choice;
    set_mesh(choice, arguments.mesh);
    choice.micro_batch = arguments.micro_batch;
    choice.chunks = arguments.chunks;
    if (!arguments.recompute.empty()) {
        choice.recompute = arguments.recompute == "yes";
    }
    if (!arguments.zero.empty()) {
        choice.zero = arguments.zero == "1" ? 1 : 0;
    }
    return choice;
}

/// Where an option of all models is not given, it is the A100's cluster, not that of pictures.
Cluster cluster_of_cards(
    const Command& train, const GptArguments& arguments, ClusterArguments cluster
) {
    for (const auto& [option, place, usual] :
         {std::tuple{"--latency", &cluster.latency, "5us"},
          std::tuple{"--bandwidth", &cluster.bandwidth, "25GB"}}) {
        if (!train.given(option)) {
            *place = usual;
        }
    }
    cluster.per_node = arguments.per_node;
    cluster.inside_latency = arguments.inside_latency;
    cluster.inside_bandwidth = arguments.inside_bandwidth;
    return cluster_of(cluster);
}

int ranks_of_gpt(const std::string& text, int per_node) {
    const std::vector<int> ranks = ranks_between_commas(text, 1, kMostGptRanks);
    if (ranks.size() > 1) {
        throw UsageError("--ranks " + text + ": with --model gpt give one number of ranks");
    }
    if (ranks.front() > per_node && ranks.front() % per_node != 0) {
        throw UsageError(fmt::format(
            "--ranks {}: that is no whole number of nodes of {}; --per-node says how many ranks "
            "a node has",
            ranks.front(), per_node
        ));
    }
    return ranks.front();
}

GptTraining training_of(
    const Command& train, const GptArguments& arguments, const TrainOutputs& shared
) {
    GptTraining training;
    training.model = {
        .layers = arguments.layers,
        .width = arguments.width,
        .heads = arguments.heads,
        .context = arguments.context,
        .vocabulary = arguments.vocabulary};
    if (arguments.width % arguments.heads != 0) {
        throw UsageError(
            fmt::format("--heads {} does not divide --width {}", arguments.heads, arguments.width)
        );
    }
    training.gradient_bytes = arguments.gradient_bytes;
    training.sequence_parallel = arguments.sequence_parallel;
    training.card = {
        .flops_per_s = parse_flops_per_s("--flops", arguments.flops),
        .bytes_per_s = parse_bytes_per_s("--memory-bandwidth", arguments.memory_bandwidth),
        .memory_bytes = parse_memory("--memory", arguments.memory),
        .efficiency = parse_share("--efficiency", arguments.efficiency)};
    training.cluster = cluster_of_cards(train, arguments, shared.cluster);
    if (train.given("--batch")) {
        training.batch = shared.batch;
    }
    if (train.given("--ranks")) {
        training.ranks = ranks_of_gpt(shared.cluster.ranks, arguments.per_node);
    }
    return training;
}

GptSearch search_or_say_why(const GptTraining& training, const GptChoice& choice) {
    GptSearch search = search_layouts(training, choice);
    if (search.layouts == 0) {
        throw UsageError(
            "no layout is possible: dp tp pp has to be --ranks, tp to divide --heads and the ranks "
            "of a node or be a multiple of these, pp to divide --layers, dp to divide --batch"
        );
    }
    if (search.fit == 0) {
        throw CommandError(
            exit_status::kFailed,
            fmt::format(
                "none of {} layouts fits: the least that a rank has to hold are {:.1f} GB, and "
                "--memory is {:.1f} GB",
                search.layouts, search.least_bytes / kGiga, training.card.memory_bytes / kGiga
            )
        );
    }
    return search;
}

void print(const Context& context, const std::string& document, const std::string& table) {
    if (context.json) {
        fmt::print("{}", document);
    } else {
        print_folded(table);
    }
}

void show_published(const Context& context, const GptTraining& training, const std::string& csv) {
    const PublishedComparison comparison = beside_published(training);
    print(context, json_of(comparison, training), table_of(comparison, training));
    if (!csv.empty()) {
        files::write_atomically(csv, csv_of(comparison));
    }
}

/// What the published rows say themselves.
void expect_rows_alone(const Command& train) {
    for (const char* const option :
         {"--layers", "--width", "--heads", "--context", "--vocabulary", "--batch", "--ranks",
          "--mesh", "--micro-batch", "--chunks", "--recompute", "--zero", "--efficiency",
          "--svg"}) {
        if (train.given(option)) {
            throw UsageError(fmt::format("{} does not go with --published", option));
        }
    }
}

}  // namespace

void simulate_gpt(
    Context& context,
    const Command& train,
    const GptArguments& arguments,
    const TrainOutputs& shared
) {
    const GptTraining training = training_of(train, arguments, shared);
    if (arguments.published) {
        expect_rows_alone(train);
    }
    const GptChoice choice = choice_of(arguments);
    check_outputs(context, shared.csv, shared.svg);
    if (arguments.published) {
        show_published(context, training, shared.csv);
        return;
    }
    const GptSearch search = search_or_say_why(training, choice);
    print(
        context, json_of(search, training),
        table_of(search, training, choice.one_mesh(), columns_of(STDOUT_FILENO))
    );
    if (!shared.csv.empty()) {
        files::write_atomically(shared.csv, csv_of(search));
    }
    if (!shared.svg.empty()) {
        plots::draw(shared.svg, picture_of(search, training));
    }
}

}  // namespace dist::cli
