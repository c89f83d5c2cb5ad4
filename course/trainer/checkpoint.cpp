#include "course/trainer/checkpoint.hpp"

#include <stdexcept>

#include <torch/serialize/archive.h>

#include "course/files/atomic_file.hpp"

namespace dist::trainer {

namespace fs = std::filesystem;
using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;

fs::path checkpoint_file(const fs::path& folder) {
    return folder / "checkpoint.pt";
}

void expect_writable(const fs::path& folder) {
    std::error_code reason;
    fs::create_directories(folder, reason);
    if (reason) {
        throw std::runtime_error(
            "--checkpoint " + folder.string() + ": cannot be made (" + reason.message() +
            "); give a folder in a place that is yours"
        );
    }
    files::check_writable(checkpoint_file(folder));
}

void save_checkpoint(
    const fs::path& folder, const std::string& run, std::size_t step, OutputArchive& archive
) {
    archive.write("run", c10::IValue(run));
    archive.write("step", c10::IValue(static_cast<std::int64_t>(step)));

    std::string bytes;
    archive.save_to([&bytes](const void* data, std::size_t size) {
        bytes.append(static_cast<const char*>(data), size);
        return size;
    });
    fs::create_directories(folder);
    files::write_atomically(checkpoint_file(folder), bytes);
}

std::size_t load_checkpoint(
    const fs::path& folder, const std::string& run, const std::function<void(InputArchive&)>& load
) {
    const fs::path file = checkpoint_file(folder);
    if (!fs::exists(file)) {
        throw std::runtime_error(
            file.string() +
            ": there is none to go on from; leave --resume out to start from the beginning"
        );
    }
    c10::IValue saved_run;
    c10::IValue step;
    try {
        InputArchive archive;
        archive.load_from(file.string());
        archive.read("run", saved_run);
        if (saved_run.toStringRef() == run) {
            load(archive);
            archive.read("step", step);
        }
    } catch (const std::exception&) {  // LibTorch's own text is a page of stack
        throw std::runtime_error(
            file.string() +
            ": is damaged or cut off; remove it, and leave --resume out to start from the beginning"
        );
    }
    if (saved_run.toStringRef() != run) {
        throw std::runtime_error(
            file.string() + ": is of another run (" + saved_run.toStringRef() +
            "), not of this one (" + run + "); give that run's options, or another folder"
        );
    }
    return static_cast<std::size_t>(step.toInt());
}

}  // namespace dist::trainer
