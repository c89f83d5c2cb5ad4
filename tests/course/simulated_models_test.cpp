// The tables that simulate train reads, against the models themselves.
#include <ATen/ops/rand.h>
#include <ATen/record_function.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "course/nn/bucket_limits.hpp"
#include "course/nn/gradient_hook.hpp"
#include "course/nn/model.hpp"
#include "course/simulate/trained_model.hpp"
#include "exercises/06_ddp/gradient_buckets.hpp"
#include "tests/harness/catch2.hpp"

namespace {

using Weight = const void*;

Weight weight_of(const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl();
}

/// What forward did with each weight.
std::map<Weight, std::int64_t>& multiply_adds() {
    static std::map<Weight, std::int64_t> all;
    return all;
}

/// A convolution that LibTorch is about to call: its weight meets each place of its output.
std::unique_ptr<at::ObserverContext> note_call(const at::RecordFunction& call) {
    const std::string name = call.name();
    if (name == "aten::convolution") {
        const auto inputs = call.inputs();
        const at::Tensor weight = inputs[1].toTensor();
        std::int64_t places = 1;
        for (const std::int64_t dim : {0, 1}) {
            const auto along = static_cast<std::size_t>(dim);
            const std::int64_t padded =
                inputs[0].toTensor().size(2 + dim) + 2 * inputs[4].toIntVector()[along];
            places *= (padded - weight.size(2 + dim)) / inputs[3].toIntVector()[along] + 1;
        }
        multiply_adds()[weight_of(weight)] += weight.numel() * places;
    }
    return nullptr;
}

/// The table of a model: its parameters as backward makes their gradients.
std::string table_of(const std::string& name) {
    const auto model = dist::nn::make_model(name);
    const auto named = model->named_parameters();
    std::vector<std::size_t> order;
    std::vector<dist::nn::GradientHook> hooks;
    for (std::size_t i = 0; i < named.size(); ++i) {
        hooks.emplace_back(named[i].value(), [&order, i] { order.push_back(i); });
    }
    std::map<Weight, std::size_t> part_of;
    for (std::size_t p = 0; p < model->parts().size(); ++p) {
        for (const at::Tensor& parameter : model->parts()[p].parameters) {
            part_of[weight_of(parameter)] = p;
        }
    }
    multiply_adds().clear();
    const auto handle =
        at::addThreadLocalCallback(at::RecordFunctionCallback(note_call).needsInputs(true));
    const at::Tensor scores = model->forward(at::rand({2, 3, 32, 32}));
    at::removeCallback(handle);
    scores.sum().backward();
    std::ostringstream table;
    table << "number,part,floats,multiply_adds,name\n";
    for (const std::size_t i : order) {
        const at::Tensor& parameter = named[i].value();
        const bool matrix = parameter.dim() == 2;  // meets each picture once
        table << i << ',' << part_of.at(weight_of(parameter)) << ',' << parameter.numel() << ','
              << (matrix ? parameter.numel() : multiply_adds()[weight_of(parameter)]) << ','
              << named[i].key() << '\n';
    }
    return table.str();
}

std::string read_all(const std::filesystem::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("the tables of models say what backward of the models does", "[simulate]") {
    const std::string name = GENERATE("resnet34", "resnet34-imagenet", "small");
    const auto file =
        std::filesystem::path(REPOSITORY) / "course/simulate/models" / (name + ".csv");
    const std::string table = table_of(name);
    if (std::getenv("SHARDLINGS_RENEW") != nullptr) {
        std::ofstream(file) << table;
    }
    INFO("SHARDLINGS_RENEW=1 writes " << file);
    CHECK(read_all(file) == table);
}

TEST_CASE("simulated buckets are those of gradient_buckets", "[simulate]") {
    const auto model = dist::nn::make_model("resnet34");
    const auto parameters = model->parameters();
    const auto table = dist::cli::read_model(REPOSITORY, "resnet34");
    const std::size_t cap_mb = GENERATE(0U, 1U, 5U, 25U, 100U);
    std::vector<std::size_t> order;
    for (const auto& parameter : table.parameters) {
        order.push_back(parameter.number);
    }
    const auto limits = dist::nn::bucket_limits(cap_mb);
    auto planned = dist::cli::plan_buckets(table.parameters, limits);
    for (auto& bucket : planned) {
        for (std::size_t& place : bucket) {
            place = order[place];
        }
    }
    CHECK(planned == dist::gradient_buckets(parameters, order, limits));
}
