#include "course/trainer/checkpoint.hpp"

#include <ATen/core/Dict.h>
#include <algorithm>
#include <caffe2/serialize/inline_container.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include <torch/csrc/jit/serialization/pickle.h>

#include "course/files/atomic_file.hpp"
#include "course/trainer/options.hpp"

namespace dist::trainer {

namespace fs = std::filesystem;
using Dict = c10::impl::GenericDict;

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

namespace {

/// The parts of `run`, which commas separate, that `other` has not.
std::string without(const std::string& run, const std::string& other) {
    std::string parts;
    for (std::size_t begin = 0; begin < run.size();) {
        const std::size_t end = std::min(run.find(", ", begin), run.size());
        const std::string part = run.substr(begin, end - begin);
        if ((", " + other + ", ").find(", " + part + ", ") == std::string::npos) {
            parts += (parts.empty() ? "" : ", ") + part;
        }
        begin = end + 2;
    }
    return parts;
}

/// As torch::jit::pickle_save, but for the name of the dict's type, which torch.load refuses where it is
/// to load weights only.
std::string to_bytes(const Dict& dict) {
    std::string bytes;
    const auto append = [&bytes](const void* data, std::size_t size) {
        bytes.append(static_cast<const char*>(data), size);
        return size;
    };
    std::string pickled;
    const auto pickle = [&pickled](const char* data, std::size_t size) {
        pickled.append(data, size);
    };
    constexpr bool kNameTypes = false;
    torch::jit::Pickler pickler(pickle, nullptr, nullptr, nullptr, nullptr, kNameTypes);
    pickler.protocol();
    pickler.pushIValue(dict);
    pickler.stop();

    caffe2::serialize::PyTorchStreamWriter file(append);
    file.writeRecord("data.pkl", pickled.data(), pickled.size());
    std::size_t i = 0;
    for (const at::Tensor& tensor : pickler.tensorData()) {
        file.writeRecord("data/" + std::to_string(i++), tensor.data_ptr(), tensor.nbytes());
    }
    file.writeEndOfFile();
    return bytes;
}

std::string damaged(const fs::path& file) {
    return file.string() +
           ": is damaged or cut off; remove it, and start from the beginning without --resume";
}

Dict from_file(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return torch::jit::pickle_load({std::istreambuf_iterator<char>(in), {}}).toGenericDict();
}

}  // namespace

void save_checkpoint(
    const fs::path& folder, const Checkpoint& checkpoint, files::SoleWriter* writer
) {
    Dict dict(c10::StringType::get(), c10::AnyType::get());
    dict.insert("run", checkpoint.run);
    dict.insert("step", static_cast<std::int64_t>(checkpoint.steps.done));
    dict.insert("all_steps", static_cast<std::int64_t>(checkpoint.steps.all));
    for (const auto& [name, tensor] : checkpoint.state) {
        dict.insert(
            name, tensor.detach().clone(at::MemoryFormat::Contiguous)
        );  // not all it is a view of
    }
    fs::create_directories(folder);
    if (writer != nullptr) {
        writer->write(to_bytes(dict));
    } else {
        files::write_atomically(checkpoint_file(folder), to_bytes(dict));
    }
}

Checkpoint read_checkpoint(const fs::path& folder) {
    const fs::path file = checkpoint_file(folder);
    if (!fs::exists(file)) {
        throw std::runtime_error(
            file.string() +
            ": there is no checkpoint to go on from; a run without --resume and --sample makes one"
        );
    }
    Checkpoint saved;
    try {
        for (const auto& entry : from_file(file)) {
            const std::string& name = entry.key().toStringRef();
            if (name == "run") {
                saved.run = entry.value().toStringRef();
            } else if (name == "step" || name == "all_steps") {
                (name == "step" ? saved.steps.done : saved.steps.all) =
                    static_cast<std::size_t>(entry.value().toInt());
            } else {
                saved.state[name] = entry.value().toTensor();
            }
        }
    } catch (const std::exception&) {  // LibTorch's own text is a page of stack
        throw std::runtime_error(damaged(file));
    }
    return saved;
}

void load_checkpoint(
    const fs::path& file,
    const Checkpoint& saved,
    const std::string& run,
    const std::function<void(const StateDict&)>& load
) {
    if (saved.run != run) {
        throw std::runtime_error(
            file.string() + ": belongs to a run with " + without(saved.run, run) + ", not " +
            without(run, saved.run) + "; give that run's options, or another folder"
        );
    }
    try {
        load(saved.state);
    } catch (const std::exception&) {
        throw std::runtime_error(damaged(file));
    }
}

}  // namespace dist::trainer
