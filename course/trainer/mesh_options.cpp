#include "course/trainer/mesh_options.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "course/parallel/schedules.hpp"
#include "course/parallel/stop.hpp"
#include "course/trainer/option_checks.hpp"

namespace dist::trainer {

namespace {

std::string check_mesh(const std::string& text) {
    try {
        read_mesh(text);
        return "";
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

std::string check_count(const std::string& text) {
    return check_whole(text, 1, 4096);
}

/// "--mesh tp=3 does not divide --heads 4".
void expect_divides(
    const std::string& what, std::int64_t divisor, const std::string& of, std::int64_t number
) {
    if (number % divisor != 0) {
        throw Stop(
            what + std::to_string(divisor) + " does not divide " + of + std::to_string(number)
        );
    }
}

/// The model and the batch can be cut so.
void expect_parts(const Options& options) {
    const auto [tp, cp, ep, dp, pp] = options.mesh;
    expect_divides("--mesh tp=", tp, "--heads ", options.gpt.heads);
    expect_divides("--mesh tp=", tp, "the vocabulary of ", options.gpt.vocabulary);
    const std::int64_t pieces = 2L * cp;
    if (cp > 1 && options.gpt.context % pieces != 0) {
        throw Stop(
            "--mesh cp=" + std::to_string(cp) + " cuts --context into " + std::to_string(pieces) +
            " pieces, which do not divide " + std::to_string(options.gpt.context)
        );
    }
    if (options.sequence_parallel) {
        expect_divides(
            "--sequence-parallel with --mesh tp=", tp, "--context, where each rank of cp has ",
            options.gpt.context / cp
        );
    }
    const int stages = pp * options.chunks;
    expect_divides(
        "--mesh pp=" + std::to_string(pp) +
            (options.chunks > 1 ? " with --chunks " + std::to_string(options.chunks) : "") +
            ": the number of stages, ",
        stages, "--layers ", options.gpt.layers
    );
    expect_divides(
        "--micro-batches ", options.micro_batches, "--batch ",
        static_cast<std::int64_t>(options.batch)
    );
    const int rounds = std::max(1, options.micro_batches / pp);
    if (options.pipeline == "interleaved") {
        expect_divides(
            "--pipeline interleaved has rounds of micro-batches, and ", rounds, "--micro-batches ",
            options.micro_batches
        );
    }
}

/// What the other ways have, and this one does not.
void expect_offered(const CLI::App& app, const Options& options) {
    if (options.model != kGpt) {
        throw Stop("--parallel 3d goes with --model gpt only");
    }
    if (options.dtype != "fp32") {
        throw Stop("--parallel 3d computes in fp32");
    }
    if (options.accumulate > 1) {
        throw Stop("--parallel 3d adds gradients up by --micro-batches, not by --accumulate");
    }
    if (options.last_batch == "short") {
        throw Stop("--parallel 3d has full batches: --last-batch fill or drop");
    }
    if (options.label_smoothing > 0) {
        throw Stop("--parallel 3d has no --label-smoothing");
    }
    if (options.sequence_parallel && options.zero > 1) {
        throw Stop("--sequence-parallel adds gradients up over tp after backward: --zero 0 or 1");
    }
    if (options.pipeline == "zb" && options.zero == 3) {
        throw Stop(
            "--pipeline zb computes gradients of weights when --zero 3 has freed them: --zero 0 to "
            "2"
        );
    }
    if (app.count("--chunks") > 0 && options.pipeline != "interleaved") {
        throw Stop("--chunks goes with --pipeline interleaved only");
    }
}

}  // namespace

void declare_mesh(CLI::App& app, Options& options) {
    app.add_option_function<std::string>(
           "--mesh", [&](const std::string& text) { options.mesh = read_mesh(text); },
           "For --parallel 3d: in how many parts each dimension is cut. dp: the examples, each "
           "part --batch at a time; pp: the blocks, one behind the other; cp: the tokens of each "
           "example; tp: each layer; ep: the experts of each block, and the examples as well, so "
           "that dp times ep parts of them are trained on. Their product is the number of ranks; "
           "neighbouring ranks differ in tp, then in cp, ep, dp and pp"
    )
        ->check(check_mesh)
        ->type_name("dp=N,pp=N,cp=N,tp=N,ep=N");
    app.add_option(
           "--micro-batches", options.micro_batches,
           "For --parallel 3d: in how many parts a batch goes through the model, each forward and "
           "backward; the fewer there are, the longer a pipeline's ranks wait. Default: pp"
    )
        ->check(check_count)
        ->type_name("M");
    app.add_option(
           "--pipeline", options.pipeline,
           "For --parallel 3d: in which order a rank computes. gpipe: forward of all "
           "micro-batches, then backward; 1f1b: in turns, so that fewer activations are held; "
           "interleaved: 1f1b with --chunks stages a rank, which waits less; zb: zero bubble, "
           "gradients of weights where 1f1b waits"
    )
        ->check(CLI::IsMember(schedule_names()))
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option(
           "--chunks", options.chunks, "For --pipeline interleaved: stages of each rank. Default: 2"
    )
        ->check(check_count)
        ->type_name("V");
    app.add_flag(
        "--sequence-parallel", options.sequence_parallel,
        "For --parallel 3d: between two cut layers each rank of tp has its part of the tokens only"
    );
    app.add_option(
           "--zero", options.zero,
           "For --parallel 3d: what ranks of dp and cp, which hold the same part of the model, cut "
           "into shards, as zero1 to zero3 do. 0: nothing"
    )
        ->check(CLI::IsMember({"0", "1", "2", "3"}))
        ->type_name("STAGE")
        ->capture_default_str();
    app.add_option(
           "--shard-ranks", options.shard_ranks,
           "For --parallel zero3, and 3d with --zero 3: how many neighbouring ranks cut one copy "
           "of the "
           "weights into shards; the others have copies, and average its gradients. Default: all"
    )
        ->check(check_count)
        ->type_name("N");
}

void expect_mesh(const CLI::App& app, Options& options) {
    const bool cuts_weights = options.parallel == Parallel::zero3 ||
                              (options.parallel == Parallel::three_d && options.zero == 3);
    if (options.shard_ranks > 0 && !cuts_weights) {
        throw Stop("--shard-ranks goes with --parallel zero3, and with 3d where it has --zero 3");
    }
    if (options.parallel != Parallel::three_d) {
        for (const char* const name :
             {"--mesh", "--micro-batches", "--pipeline", "--chunks", "--sequence-parallel",
              "--zero"}) {
            if (app.count(name) > 0) {
                throw Stop(std::string(name) + " goes with --parallel 3d only");
            }
        }
        return;
    }
    if (app.count("--micro-batches") == 0) {
        options.micro_batches = options.mesh.pp;
    }
    if (app.count("--chunks") == 0) {
        options.chunks = options.pipeline == "interleaved" ? 2 : 1;
    }
    expect_offered(app, options);
    expect_parts(options);
}

}  // namespace dist::trainer
