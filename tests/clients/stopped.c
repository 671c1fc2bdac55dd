/* A daemon that is stopped while a program uses the device, and goes on later: stopped DAEMON. The second time the program has
 * a signal more often than the library looks whether the daemon is there. */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "client.h"

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int ask(int fd)
{
	struct drm_ane_get_param param = { .param = ANE_PARAM_PAGE_SIZE };
	return ioctl(fd, DRM_IOCTL_ANE_GET_PARAM, &param);
}

/* Stops the daemon, and waits until it is. */
static void stop(pid_t daemon)
{
	char path[64], line[512], state = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", daemon);
	CHECK(kill(daemon, SIGSTOP) == 0);
	while (state != 'T') {
		FILE *stat = fopen(path, "r");
		CHECK(stat && fgets(line, sizeof line, stat));
		fclose(stat);
		CHECK(sscanf(strrchr(line, ')'), ") %c", &state) == 1);
	}
}

/* Ends a program that waits for ever. */
static void handler(int signal)
{
	static volatile sig_atomic_t signals;
	(void)signal;
	if (++signals > 6000)
		_exit(2);
}

static void alarm_every(long microseconds)
{
	struct timeval period = { .tv_usec = microseconds };
	struct itimerval timer = { .it_interval = period, .it_value = period };
	struct sigaction action = { .sa_handler = handler };
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void meet_a_stopped_daemon(pid_t daemon, long signal_period)
{
	int fd = open_device();
	CHECK(fd >= 0 && ask(fd) == 0);
	stop(daemon);
	alarm_every(signal_period);
	double start = now();
	CHECK(ask(fd) == -1 && errno == ENODEV);
	CHECK(open("/dev/accel/accel0", O_RDWR) == -1 && errno == ENODEV);
	CHECK(now() - start < 30);
	alarm_every(0);
	CHECK(kill(daemon, SIGCONT) == 0);
	/* The file went with its connection; another can be had. */
	CHECK(ask(fd) == -1 && errno == ENODEV);
	close(fd);
	fd = open_device();
	CHECK(fd >= 0 && ask(fd) == 0);
	close(fd);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	pid_t daemon = (pid_t)atoi(argv[1]);
	meet_a_stopped_daemon(daemon, 0);
	meet_a_stopped_daemon(daemon, 10000);
	return 0;
}
