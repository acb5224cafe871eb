#pragma once

#include <cstdint>

/// Replaces operator new of the program that links it, and counts its calls between start() and stop().
namespace outrigger::counting_new {

void exclude_this_thread();
void start();
std::uint64_t stop();

}  // namespace outrigger::counting_new
