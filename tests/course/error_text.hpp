// What a call throws, as text.
#pragma once

#include <exception>
#include <functional>
#include <string>

/// what() of the exception that `call` throws; "nothing was thrown" if it returns.
inline std::string error_text(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "nothing was thrown";
}
