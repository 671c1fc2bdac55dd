/* A descriptor that comes from elsewhere: kept through exec, and passed through a socket. handed [FD HANDLE] */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "client.h"

static void look(int fd, uint32_t handle)
{
	struct drm_ane_bo_info info = { .handle = handle };
	CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_INFO, &info) == 0);
	uint8_t *map = mmap(NULL, 0x4000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)info.map_offset);
	CHECK(map != MAP_FAILED && map[7] == 42);
	map[8]++;
}

/* A memory object of that name on which the device is asked: the error. */
static int asked(const char *name)
{
	struct version version = { 0 };
	int fd = memfd_create(name, MFD_CLOEXEC);
	errno = 0;
	CHECK(fd >= 0 && ioctl(fd, IOCTL_VERSION, &version) == -1);
	int why = errno;
	close(fd);
	return why;
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		look(atoi(argv[1]), (uint32_t)atoi(argv[2]));
		return 0;
	}
	int ends[2], status;
	/* As of a file that is closed, and as of somebody else's. */
	CHECK(asked("ane-arena") == ENODEV && asked("other") == ENOTTY);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	/* Before the file is there, so that the receiver did not inherit it. */
	pid_t receiver = fork();
	CHECK(receiver >= 0);
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	uint32_t handle;
	struct iovec part = { &handle, sizeof handle };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	if (receiver == 0) {
		int fd;
		CHECK(recvmsg(ends[1], &message, 0) == sizeof handle);
		memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
		look(fd, handle);
		_exit(0);
	}

	int fd = open("/dev/accel/accel0", O_RDWR);
	CHECK(fd >= 0);
	struct buffer buffer = new_buffer(fd, 0x4000);
	buffer.map[7] = 42;
	handle = buffer.handle;
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	CHECK(sendmsg(ends[0], &message, 0) == sizeof handle);
	CHECK(waitpid(receiver, &status, 0) == receiver && status == 0);
	CHECK(buffer.map[8] == 1);

	pid_t other = fork();
	CHECK(other >= 0);
	if (other == 0) {
		char descriptor[16], name[16];
		snprintf(descriptor, sizeof descriptor, "%d", fd);
		snprintf(name, sizeof name, "%u", handle);
		execl("/proc/self/exe", argv[0], descriptor, name, NULL);
		_exit(1);
	}
	CHECK(waitpid(other, &status, 0) == other && status == 0);
	CHECK(buffer.map[8] == 2);
	return 0;
}
