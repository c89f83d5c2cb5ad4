// Calls that have to throw, and whose text has to name what went wrong.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "course/runtime/error.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/text.hpp"

namespace dist::harness {

/// Whether the call throws such an exception, whose text has all these words.
template <class Exception = Error>
Comparison throws_error(
    const std::function<void()>& call, const std::vector<std::string>& words = {}
) {
    std::string told;
    try {
        call();
        return {false, text("it returned as if all were well: an error has to name ", words)};
    } catch (const NotImplemented&) {  // a stub: nothing was tried
        throw;
    } catch (const Exception& error) {
        told = error.what();
    } catch (const std::exception& other) {
        return {false, text("it threw another exception: ", other.what())};
    }
    for (const std::string& word : words) {
        if (told.find(word) == std::string::npos) {
            return {false, text("the text has to name ", word, ", and is: ", told)};
        }
    }
    return {};
}

/// What the call throws: the text of an Error, or of another exception; "" if it throws none.
inline std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const NotImplemented&) {
        throw;
    } catch (const Error& error) {
        return error.what();
    } catch (const std::exception& other) {
        return text("another exception: ", other.what());
    }
    return "";
}

}  // namespace dist::harness
