// CIFAR-10 in its binary format: one label byte, then 32 x 32 red, 32 x 32 green, 32 x 32 blue
// bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

namespace dist::data {

inline constexpr std::size_t kSide = 32;                         ///< pixels
inline constexpr std::size_t kPictureBytes = 3 * kSide * kSide;  ///< 3072
inline constexpr std::size_t kRecordBytes = 1 + kPictureBytes;   ///< 3073
inline constexpr std::size_t kClasses = 10;
inline constexpr std::array kClassNames = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

/// Labelled pictures in memory, as they lie in the file.
class PictureSet {
  public:
    /// How many pictures.
    [[nodiscard]] std::size_t size() const { return records_.size() / kRecordBytes; }

    /// The class of picture i: 0 to 9.
    [[nodiscard]] int label(std::size_t i) const { return records_[i * kRecordBytes]; }

    /// (3, 32, 32) bytes of picture i.
    [[nodiscard]] std::span<const std::uint8_t> picture(std::size_t i) const {
        return std::span(records_).subspan(i * kRecordBytes + 1, kPictureBytes);
    }

    /// Reads records up to the end of `in` and adds them to this set.
    ///
    /// name    of the file, for messages.
    /// Errors  std::runtime_error, naming file and record, if the last record is cut off or a label
    ///         is above nine.
    void append(std::istream& in, const std::string& name);

    /// Keeps the first n pictures, if there are more.
    void truncate(std::size_t n);

  private:
    std::vector<std::uint8_t> records_;
};

/// What a run trains and tests on.
struct Dataset {
    PictureSet train;
    PictureSet test;
    std::string source;  ///< the folder, or "the synthetic set"
    bool synthetic = false;
};

/// Reads data_batch_1.bin to data_batch_5.bin and test_batch.bin. A file may hold any number of
/// records.
///
/// Errors  std::runtime_error, saying what to do, if the folder or a file of it is missing, empty
///         or damaged.
Dataset read_cifar10(const std::filesystem::path& folder);

/// The data of a run, from the first of these that is there: `folder` (if not empty),
/// datasets/cifar-10-batches-bin, the folder that the environment's SHARDLINGS_CIFAR10 names, and
/// the synthetic set of `seed`.
///
/// train_size, test_size  at most so many pictures; 0: all there are (synthetic: 5000 and 1000).
///
/// Errors  as read_cifar10: a source that is there and damaged is refused, not passed over.
Dataset load_dataset(
    const std::filesystem::path& folder,
    std::size_t train_size,
    std::size_t test_size,
    std::uint64_t seed
);

}  // namespace dist::data
