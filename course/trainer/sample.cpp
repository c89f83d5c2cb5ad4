#include "course/trainer/sample.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <torch/utils.h>

#include "course/nn/gpt.hpp"
#include "course/parallel/optimizer.hpp"
#include "course/trainer/snapshot.hpp"

namespace dist::trainer {

namespace {

std::shared_ptr<nn::Model> load_model(const Options& options, const Communicator& alone) {
    const Saved found = find_saved(options.checkpoint, alone);
    const Checkpoint saved = read_saved(found, options.checkpoint, alone);
    const std::string wanted = describe_model(options);
    if (!saved.run.starts_with("model " + wanted + ",")) {
        throw std::runtime_error(
            file_of(found, options.checkpoint).string() + ": has a " +
            saved.run.substr(0, saved.run.find(',')) + ", not a " + wanted +
            "; give the options of its run"
        );
    }
    auto model = nn::make_gpt(options.gpt);
    for (const auto& parameter : model->named_parameters()) {
        parameter.value().copy_(saved.state.at(model_name(parameter.key())));
    }
    model->eval();
    return model;
}

void print(char byte) {
    std::fputc(byte, stdout);
    std::fflush(stdout);
}

}  // namespace

void print_sample(const Options& options, const Communicator& alone) {
    const c10::AutoGradMode no_graph(false);
    const auto model = load_model(options, alone);
    torch::manual_seed(options.seed);
    const std::string begin = options.sample->empty() ? "\n" : *options.sample;
    std::vector<std::int64_t> tokens;
    for (const char byte : begin) {
        tokens.push_back(static_cast<unsigned char>(byte));
        print(byte);
    }
    for (std::size_t i = 0; i < options.sample_bytes; ++i) {
        const auto seen = std::min(static_cast<std::ptrdiff_t>(tokens.size()), options.gpt.context);
        const at::Tensor last =
            at::tensor(std::vector<std::int64_t>(tokens.end() - seen, tokens.end()));
        const at::Tensor scores = model->forward(last.unsqueeze(0))[0][-1];
        const at::Tensor next = options.temperature == 0
                                    ? scores.argmax()
                                    : scores.div(options.temperature).softmax(-1).multinomial(1);
        tokens.push_back(next.item<std::int64_t>());
        print(static_cast<char>(tokens.back()));
    }
    print('\n');
}

}  // namespace dist::trainer
