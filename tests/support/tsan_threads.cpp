// For the tsan preset only. ThreadSanitizer sees threads that are made with pthread_create and joined with pthread_join, but not
// those of C11's thrd_create, which librdkafka uses: the first instrumented function on such a thread crashes. The executable's own
// definitions win over the C library's, also for shared libraries, when it is linked with -rdynamic.
#include <pthread.h>
#include <threads.h>

#include <cstdint>
#include <memory>

namespace {

struct Start {
  thrd_start_t function;
  void* argument;
};

void* run(void* opaque) {
  const std::unique_ptr<Start> start(static_cast<Start*>(opaque));
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start->function(start->argument)));
}

}  // namespace

extern "C" int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  if (pthread_create(thread, nullptr, run, start.get()) != 0) {
    return thrd_error;
  }
  static_cast<void>(start.release());
  return thrd_success;
}

extern "C" int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  if (pthread_join(thread, &value) != 0) {
    return thrd_error;
  }
  if (result != nullptr) {
    *result = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  }
  return thrd_success;
}
