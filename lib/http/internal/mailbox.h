#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <asio/io_context.hpp>

namespace outrigger::http::internal {

/// How other threads reach a loop. It outlives the loop: what is posted after close() is dropped, so a late answer harms nobody.
/// Its length is bounded by the requests in flight. Thread-safe.
class Mailbox final : public std::enable_shared_from_this<Mailbox> {
 public:
  using Task = std::move_only_function<void()>;

  explicit Mailbox(asio::io_context& io) : io_(&io) {}

  /// On the loop's own thread the task runs at once, elsewhere soon. Returns whether it ran or will run.
  bool run_or_post(Task task);
  bool post(Task task);

  void set_loop_thread(std::thread::id id) { loop_thread_ = id; }  ///< before the loop runs
  [[nodiscard]] bool is_loop_thread() const { return std::this_thread::get_id() == loop_thread_; }

  /// Drops what waits; the loop may go.
  void close();

 private:
  void run_all();

  std::mutex mutex_;
  std::vector<Task> tasks_;
  asio::io_context* io_;
  std::atomic<std::thread::id> loop_thread_{};
};

}  // namespace outrigger::http::internal
