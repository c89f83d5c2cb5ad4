#include "course/data/cifar10.hpp"

#include <cstdlib>
#include <fstream>
#include <istream>
#include <iterator>
#include <stdexcept>

#include "course/data/synthetic.hpp"

namespace dist::data {

namespace fs = std::filesystem;

void PictureSet::append(std::istream& in, const std::string& name) {
    const std::size_t before = size();
    std::array<char, kRecordBytes> record{};
    while (in.read(record.data(), kRecordBytes)) {
        const int label = static_cast<std::uint8_t>(record.front());
        if (label >= static_cast<int>(kClasses)) {
            throw std::runtime_error(
                name + ": record " + std::to_string(size() - before) + " has the label " +
                std::to_string(label) +
                ", but the classes are 0 to 9: this is not CIFAR-10's binary "
                "format, or the file is damaged; fetch it again (datasets/README.md)"
            );
        }
        records_.insert(records_.end(), record.begin(), record.end());
    }
    if (in.gcount() != 0) {
        throw std::runtime_error(
            name + ": cut off in record " + std::to_string(size() - before) + ", after " +
            std::to_string(in.gcount()) + " of its " + std::to_string(kRecordBytes) +
            " bytes; fetch the file again (datasets/README.md)"
        );
    }
}

void PictureSet::truncate(std::size_t n) {
    if (n < size()) {
        records_.resize(n * kRecordBytes);
    }
}

namespace {

void append_file(PictureSet& pictures, const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        throw std::runtime_error(
            path.string() +
            ": cannot be read; the folder must hold data_batch_1.bin to "
            "data_batch_5.bin and test_batch.bin (datasets/README.md)"
        );
    }
    const std::size_t before = pictures.size();
    pictures.append(in, path.string());
    if (pictures.size() == before) {
        throw std::runtime_error(path.string() + ": is empty; fetch it again (datasets/README.md)");
    }
}

}  // namespace

Dataset read_cifar10(const fs::path& folder) {
    if (!fs::is_directory(folder)) {
        throw std::runtime_error(
            "data: there is no folder " + folder.string() +
            "; give one that holds CIFAR-10's .bin files, or "
            "leave --data out to train on the synthetic set"
        );
    }
    Dataset data{.train = {}, .test = {}, .source = folder.string()};
    for (int i = 1; i <= 5; ++i) {
        append_file(data.train, folder / ("data_batch_" + std::to_string(i) + ".bin"));
    }
    append_file(data.test, folder / "test_batch.bin");
    return data;
}

Dataset load_dataset(
    const fs::path& folder, std::size_t train_size, std::size_t test_size, std::uint64_t seed
) {
    const fs::path downloaded = fs::path(SHARDLINGS_DATASETS) / "cifar-10-batches-bin";
    const char* const from_environment = std::getenv("SHARDLINGS_CIFAR10");
    Dataset data;
    if (!folder.empty()) {
        data = read_cifar10(folder);
    } else if (fs::exists(downloaded)) {
        data = read_cifar10(downloaded);
    } else if (from_environment != nullptr && *from_environment != '\0') {
        data = read_cifar10(from_environment);
    } else {
        data = synthetic_dataset(
            train_size == 0 ? 5000 : train_size, test_size == 0 ? 1000 : test_size, seed
        );
    }
    if (train_size != 0) {
        data.train.truncate(train_size);
    }
    if (test_size != 0) {
        data.test.truncate(test_size);
    }
    return data;
}

}  // namespace dist::data
