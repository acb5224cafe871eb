// What the adapter does not offer must not compile, and everything else must take what stock cpp-httplib takes.
#include <gtest/gtest.h>

#include "lib/http/cpp_httplib/server.h"

namespace outrigger::http::cpp_httplib {
namespace {

template <class S>
constexpr bool kOffersMounts =
    requires(S server) { server.set_mount_point("/", "dir"); } || requires(S server) { server.set_base_dir("dir"); } ||
    requires(S server) { server.remove_mount_point("/"); } ||
    requires(S server, httplib::Server::Handler handler) { server.set_file_request_handler(handler); } ||
    requires(S server) { server.set_file_extension_and_mimetype_mapping("a", "b"); } || requires(S server) { server.set_default_file_mimetype("a"); };
template <class S>
constexpr bool kOffersSockets = requires(S server) { server.set_socket_options([](int) {}); } ||
                                requires(S server) { server.set_address_family(2); } || requires(S server) { server.set_ipv6_v6only(true); } ||
                                requires(S server) { server.set_tcp_nodelay(true); } || requires(S server) { server.set_idle_interval(1); } ||
                                requires(S server) { server.set_keep_alive_max_count(1); } || requires(S server) { server.decommission(); };
template <class S>
constexpr bool kOffersInternals = requires(S server) { server.new_task_queue = [] { return nullptr; }; } || requires(S server) {
  server.set_expect_100_continue_handler([](const httplib::Request&, httplib::Response&) { return 100; });
} || requires(S server) { server.set_header_writer([](httplib::Stream&, httplib::Headers&) { return ssize_t{0}; }); };

static_assert(kOffersMounts<httplib::Server> && kOffersSockets<httplib::Server> && kOffersInternals<httplib::Server>);
static_assert(!kOffersMounts<Server> && !kOffersSockets<Server> && !kOffersInternals<Server>);

TEST(Surface, TakesTheCallsOfStock) {
  const auto configure = []<class S>(S& server) {
    server.set_read_timeout(5).set_read_timeout(5, 500'000).set_write_timeout(std::chrono::seconds(5)).set_keep_alive_timeout(3);
    server.set_payload_max_length(1'024).set_default_headers({{"A", "b"}}).set_logger([](const auto&, const auto&) {});
    return server.is_valid() && !server.is_running();
  };
  httplib::Server stock;
  Server ours;
  EXPECT_TRUE(configure(stock));
  EXPECT_TRUE(configure(ours));
}

TEST(Surface, RefusesAPortThatIsTaken) {
  Server first;
  const int port = first.bind_to_any_port("localhost");
  ASSERT_GT(port, 0);
  Server second;
  EXPECT_FALSE(second.bind_to_port("127.0.0.1", port));
  EXPECT_FALSE(second.listen("127.0.0.1", port));
  EXPECT_FALSE(second.listen_after_bind());
}

}  // namespace
}  // namespace outrigger::http::cpp_httplib
