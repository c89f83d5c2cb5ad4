#include "course/trainer/log.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>

namespace dist::trainer {

namespace {

// ordered: the line reads as it was written
using Json = nlohmann::ordered_json;

// What is not a log is not to be cut.
void expect_log(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::string line;
    const bool empty = !std::getline(in, line);
    const Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!empty && (!record.is_object() || !record.contains("step"))) {
        throw std::runtime_error(
            "--log " + path.string() + ": is not the log of a run that can go on; give another path"
        );
    }
}

// Where the lines of steps up to `keep_steps` end, in bytes from the start of the file.
std::uintmax_t end_of_steps(const std::filesystem::path& path, std::size_t keep_steps) {
    std::ifstream in(path);
    std::uintmax_t end = 0;
    for (std::string line; std::getline(in, line) && !in.eof();) {
        const Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
        if (!record.is_object() || record.value("step", keep_steps + 1) > keep_steps) {
            break;
        }
        end += line.size() + 1;
    }
    return end;
}

}  // namespace

void TimeRecord::add(const StepRecord& record) {
    data_s += record.data_s;
    forward_s += record.forward_s;
    backward_s += record.backward_s;
    communication_s += record.communication_s;
    optimizer_s += record.optimizer_s;
    hidden_s += record.hidden_s;
}

Log::Log(const std::filesystem::path& path, std::size_t keep_steps) : path_(path) {
    if (keep_steps > 0 && std::filesystem::is_regular_file(path)) {
        expect_log(path);
        std::error_code
            ignored;  // a file that cannot be cut cannot be opened either, and that is told
        std::filesystem::resize_file(path, end_of_steps(path, keep_steps), ignored);
        out_.open(path, std::ios::app);
    } else {
        out_.open(path);
    }
    if (!out_) {
        throw std::runtime_error(
            "--log " + path.string() + ": cannot be written (" + std::strerror(errno) +
            "); give a path in a folder that is there and yours"
        );
    }
}

void Log::write(const StepRecord& record) {
    Json line = {
        {"step", record.step},
        {"epoch", record.epoch},
        {"loss", record.loss},
        {"accuracy", record.accuracy},
        {record.unit, record.seen},
        {record.unit + "_per_s", record.seen_per_s},
        {"rate", record.rate},
        {"data_s", record.data_s},
        {"forward_s", record.forward_s},
        {"backward_s", record.backward_s},
        {"communication_s", record.communication_s},
        {"optimizer_s", record.optimizer_s},
        {"hidden_s", record.hidden_s},
    };
    if (record.grad_norm) {
        line["grad_norm"] = *record.grad_norm;
    }
    write_line(line.dump());
}

void Log::write(const EpochRecord& record) {
    Json line = {
        {"step", record.step},
        {"epoch", record.epoch},
        {"train_steps", record.train_steps},
        {"train_loss", record.train_loss},
        {"train_accuracy", record.train_accuracy},
        {"test_accuracy", record.test.accuracy},
        {"test_" + record.unit, record.test.counted},
        {"synthetic", record.synthetic},
        {"evaluation_s", record.evaluation_s},
        {"duration_s", record.duration_s},
    };
    if (record.test.loss) {
        line["test_loss"] = *record.test.loss;
        line["perplexity"] = std::exp(*record.test.loss);
    }
    write_line(line.dump());
}

void Log::write(const TimeRecord& record) {
    const Json line = {
        {"step", record.step},
        {"data_s", record.data_s},
        {"forward_s", record.forward_s},
        {"backward_s", record.backward_s},
        {"communication_s", record.communication_s},
        {"optimizer_s", record.optimizer_s},
        {"hidden_s", record.hidden_s},
        {"evaluation_s", record.evaluation_s},
        {"checkpoint_s", record.checkpoint_s},
        {"total_s", record.total_s},
    };
    write_line(line.dump());
}

void Log::write_line(const std::string& line) {
    if (!out_.is_open()) {
        return;
    }
    if (!(out_ << line << std::endl)) {
        throw std::runtime_error(
            "--log " + path_.string() + ": the line could not be written (" + std::strerror(errno) +
            ")"
        );
    }
}

}  // namespace dist::trainer
